// Standard input: spool_standard_input(), and the guess of its format from its first bytes.
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/file.h"
#include "base/input_format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/standard_input_name.h"
#include "base/system_call.h"
#include "base/units.h"
#include "base/utf8.h"
#include "text/byte_window.h"
#include "text/input_file.h"
#include "text/row_reader.h"
#include "text/template_text.h"

namespace encode {
namespace {

constexpr size_t kGuessBytes = size_t{64} << 10;

// Without a format and a field, each line is a text.
bool may_be_empty(const InputOptions& options) {
  return facts_of(options.format).may_be_empty ||
         (options.format == TextFormat::kAuto && !options.names_fields());
}

Error no_input() {
  return Error(
      {.code = "text.format",
       .what = "standard input is empty",
       .where = kStandardInputName,
       .expected = "the texts",
       .found = "no bytes",
       .hint = "the command in front of the pipe printed nothing: run it alone to see why"});
}

// Copies standard input to `path`, with a suffix that says how it is compressed. Returns the path.
std::string copy_standard_input(const InputOptions& options, const std::string& path) {
  std::vector<char> block(RowReader::kBlockBytes);
  size_t size = 0;
  bool ended = false;  // because reading a terminal after its end would wait for new input
  const auto fill = [&] {
    while (!ended && size < block.size()) {
      const ssize_t n =
          retried([&] { return ::read(STDIN_FILENO, block.data() + size, block.size() - size); });
      if (n < 0) throw system_error("io.read", "read", kStandardInputName, errno);
      ended = n == 0;
      size += static_cast<size_t>(n);
    }
  };
  fill();
  const std::string_view start(block.data(), size);
  if (start.empty() && !may_be_empty(options)) throw no_input();
  std::string spooled = path;
  if (const std::string_view suffix = name_of(compression_of_magic(start)); !suffix.empty())
    spooled += fmt::format(".{}", suffix);
  AtomicFile spool(spooled, 0);
  for (; size > 0; fill()) spool.write(block.data(), std::exchange(size, 0));
  spool.commit();
  return spooled;
}

// The first bytes of the texts, decompressed, without a byte order mark and spaces before the text.
struct Start {
  std::string bytes;
  bool whole = false;  // there are no more bytes

  std::string_view line() const { return std::string_view(bytes).substr(0, bytes.find('\n')); }
  // Returns the text after the first line.
  std::string_view rest() const {
    return std::string_view(bytes).substr(std::min(bytes.size(), line().size() + 1));
  }
};

Start read_start(const InputOptions& options) {
  DiskFile file(options.path, /*hashed=*/false);
  ByteWindow window(make_byte_source(file, input_format(options).compression), kGuessBytes);
  Start start;
  while (window.view().size() < kGuessBytes && !start.whole) start.whole = !window.extend();
  std::string_view bytes = window.view().substr(0, kGuessBytes);
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  bytes.remove_prefix(std::min(bytes.size(), bytes.find_first_not_of(kJsonSpace)));
  start.bytes = bytes;
  return start;
}

// Returns true if the text is a JSON document or, if it is cut off, may be the beginning of one.
bool may_be_json(std::string_view text, bool whole) {
  constexpr size_t kTokenBytes = 16;  // a name or an escape that the cut splits
  const std::optional<JsonFault> fault = find_json_fault(text);
  return !fault || (!whole && fault->offset + kTokenBytes >= text.size());
}

// Returns true if the first line is a JSON object, or the beginning of a JSON object of several
// lines.
bool is_object(const Start& start) {
  return may_be_json(start.line(), start.whole || !start.rest().empty()) ||
         may_be_json(start.bytes, start.whole);
}

// Returns true if the file has a header of at least two columns, one of which is the field.
bool has_column(const InputOptions& options, TextFormat format, const Start& start) {
  // A header with tabs belongs to TSV.
  if (start.line().find_first_of(format == TextFormat::kTsv ? "\t" : ",;|") ==
      std::string_view::npos)
    return false;
  InputOptions table = options;
  table.format = format;
  try {
    open_input_file(table, {.hashed = false, .block_bytes = kGuessBytes});
    return true;
  } catch (const Error& error) {
    if (error.detail().code.in_group("csv")) return false;
    throw;
  }
}

// Takes the first record of a table from `text`. Returns the number of its fields, or 0 if a quote
// is not closed. Delimiters and line ends between quotes are text.
int64_t take_record(std::string_view& text, char delimiter) {
  int64_t fields = 1;
  bool quoted = false;
  bool field_begins = true;
  size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != '\n'); ++at) {
    const char c = text[at];
    if (quoted && c == '"') {
      quoted = text.substr(at + 1).starts_with('"');
      at += quoted ? 1 : 0;
    } else if (!quoted) {
      quoted = field_begins && c == '"';
      fields += c == delimiter ? 1 : 0;
      field_begins = c == delimiter;
    }
  }
  text.remove_prefix(std::min(text.size(), at + 1));
  return quoted ? 0 : fields;
}

// Returns true if the first two records have the same number of fields, and more than one, as in a
// table.
bool looks_like_table(const Start& start) {
  const auto same = [&](char delimiter) {
    std::string_view text = start.bytes;
    const int64_t columns = take_record(text, delimiter);
    return columns > 1 && columns == take_record(text, delimiter);
  };
  return std::any_of(kCsvDelimiters.begin(), kCsvDelimiters.end(), same);
}

Error unknown_format(const Start& start, std::string expected, std::string hint) {
  constexpr size_t kShownBytes = 40;
  return Error({.code = "text.format",
                .what = "the format of standard input is not clear",
                .where = kStandardInputName,
                .expected = std::move(expected),
                .found = start.bytes.empty()
                             ? "only white space"
                             : fmt::format("'{}'", preview(start.line(), kShownBytes)),
                .hint = std::move(hint)});
}

struct Guess {
  TextFormat format = TextFormat::kLines;
  std::string reason;
  bool ambiguous = false;
};

Error objects_without_field(const InputOptions& options, const Start& start, TextFormat format) {
  InputOptions objects = options;
  objects.format = format;
  const std::string fields = list_fields(objects);
  return unknown_format(
      start, "a field that holds the text of each JSON object",
      fmt::format("name it with --field{}; to encode the JSON itself, set --format lines",
                  fields.empty() ? "" : fmt::format("; the first object has: {}", fields)));
}

// Without a field, each element or line is a text.
Guess guess_texts(const InputOptions& options, const Start& start) {
  const bool array = start.bytes.starts_with('[') && may_be_json(start.bytes, start.whole);
  const size_t first = start.bytes.find_first_not_of(" \t\r\n", 1);
  const bool objects = array && first != std::string::npos && start.bytes[first] == '{';
  if (array && !objects)
    return {.format = TextFormat::kJson, .reason = "it is a JSON array of texts"};
  if (objects || (start.bytes.starts_with('{') && is_object(start)))
    throw objects_without_field(options, start, array ? TextFormat::kJson : TextFormat::kJsonl);
  if (looks_like_table(start))
    return {.reason = "it may also be CSV or TSV, for which --field names the column",
            .ambiguous = true};
  return {.reason = "it is no JSON, and no field is named"};
}

Guess guess_fields(const InputOptions& options, const Start& start) {
  if (start.bytes.starts_with('{'))
    return {.format = TextFormat::kJsonl, .reason = "its first line begins with '{'"};
  if (start.bytes.starts_with('[')) {
    const bool lines = start.rest().find_first_not_of(" \t\r\n") != std::string_view::npos &&
                       !find_json_fault(start.line());
    return {.format = lines ? TextFormat::kJsonl : TextFormat::kJson,
            .reason = lines ? "its first line is a whole JSON array" : "it begins with '['"};
  }
  for (const TextFormat format : {TextFormat::kCsv, TextFormat::kTsv}) {
    if (has_column(options, format, start))
      return {.format = format, .reason = "its first line is a header with the field"};
  }
  const std::vector<std::string> columns = fields_of(options);
  throw unknown_format(
      start,
      fmt::format("JSON, or a header with the {} '{}' and others",
                  columns.size() == 1 ? "column" : "columns",
                  preview(fmt::format("{}", fmt::join(columns, "', '")))),
      fmt::format("set --format: {}; a text on each line needs no --field", text_fields_names()));
}

// Throws the Error of the reader of lines if the bytes are binary data.
void refuse_binary(const InputOptions& options) {
  InputOptions lines = options;
  lines.format = TextFormat::kLines;
  lines.field.clear();
  lines.text_template.clear();
  open_input_file(lines, {.hashed = false, .block_bytes = kGuessBytes});
}

Guess guess_format(const InputOptions& options) {
  const Start start = read_start(options);
  for (const auto& [name, format] : kTextFormats) {
    const FormatFacts facts = facts_of(format);
    if (!facts.magic.empty() && start.bytes.starts_with(facts.magic))
      return {.format = format,
              .reason =
                  fmt::format("it begins with {}", facts.magic.substr(0, facts.magic.find('\0')))};
    if (!facts.stream_magic.empty() && start.bytes.starts_with(facts.stream_magic))
      return {.format = format, .reason = fmt::format("it begins as {} does", facts.stream_title)};
  }
  refuse_binary(options);
  return options.names_fields() ? guess_fields(options, start) : guess_texts(options, start);
}

}  // namespace

SpooledInput spool_standard_input(const InputOptions& options, const std::string& spool_path) {
  SpooledInput spooled = {.options = options};
  spooled.options.path = copy_standard_input(options, spool_path);
  if (options.format != TextFormat::kAuto) return spooled;
  Guess guess;
  try {
    guess = guess_format(spooled.options);
  } catch (const Error& error) {
    throw naming_standard_input(error, spooled.options);
  }
  spooled.options.format = guess.format;
  spooled.guess = fmt::format("standard input is read as {}: {}. --format sets another format",
                              name_of(kTextFormats, guess.format), guess.reason);
  spooled.ambiguous = guess.ambiguous;
  return spooled;
}

}  // namespace encode
