// The parser of CSV and TSV (RFC 4180). The first record is the header. The texts of the rows are
// the fields of one column, or are made of the fields of several columns. What separates the fields
// of a CSV file is the first of kCsvDelimiters that its header has: spreadsheets write semicolons
// where the comma is a decimal point, and databases export tabs and vertical bars.
//
// If a record breaks the RFC (a quote in an unquoted field, text after a closing quote, a wrong
// number of fields), that record is a bad row. A quote that is never closed makes the rest of the
// file one field, so it is an Error under every row policy.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "text/parsers.h"
#include "text/template_text.h"

namespace encode {
namespace {

constexpr int64_t kMaxHeaderBytes = int64_t{1} << 20;

// find() is faster than std::count() here: line feeds are rare in text, and GCC 12 does not
// vectorize std::count() at -O2.
int64_t count_line_feeds(std::string_view text) {
  int64_t count = 0;
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    ++count;
  return count;
}

const char* column_hint(size_t columns, char delimiter) {
  if (columns == 1 && delimiter == '\t')
    return "the header has one column: name it, or separate the columns of a TSV file with tabs "
           "(--format csv reads commas, semicolons and |)";
  return columns == 1 ? "the header has one column: name it, or separate the columns with commas, "
                        "semicolons, tabs or |"
                      : "name one of these columns; a name must be unique in the header";
}

// A user who names a column by its number usually has a file without a header. The advice is to add
// a header of numbers, because then the number is the name of the column.
std::string advice_about_number(const std::string& path, size_t columns, char delimiter) {
  constexpr size_t kMostInCommand = 20;
  std::string advice =
      "line 1 is read as the header, and a column is given by its name there; if the file has no "
      "header, put a line with a name for each column in front of it";
  if (columns > kMostInCommand || without_compression(path) != path) return advice;
  std::string header;
  for (size_t i = 1; i <= columns; ++i)
    header += (i > 1 ? std::string(1, delimiter) : "") + fmt::to_string(i);
  std::filesystem::path with_header = path;
  with_header.replace_extension(".header" + with_header.extension().string());
  return fmt::format("{}: `{{ {}; cat {}; }} > {}`", advice, shell_command({"echo", header}),
                     shell_command({path}), shell_command({with_header.string()}));
}

class CsvParser final : public RecordParser {
 public:
  CsvParser(ByteWindow& window, const InputOptions& options, char delimiter);

  bool next(Record& record) override;
  void seek(int64_t offset_bytes, int64_t line) override;

 private:
  enum class FieldEnd { kDelimiter, kRecord };

  void find_delimiter();
  void read_header(const std::vector<std::string>& columns);
  [[noreturn]] void refuse_column(const std::string& column,
                                  const std::vector<std::string>& names) const;
  void begin_record();
  FieldEnd read_field(std::string* wanted);
  void read_quoted(std::string* wanted);
  FieldEnd read_after_quote(std::string* wanted);
  FieldEnd read_unquoted(std::string* wanted);
  FieldEnd end_record(std::string* wanted, bool line_end);
  void take(size_t size, std::string* wanted);
  void set_text(Record& record);
  int peek();
  void set_problem(ErrorCode code, std::string what, std::string found);
  [[noreturn]] void fail(const RowProblem& problem, int64_t line, std::string hint) const;

  ByteWindow& window_;
  std::string path_;
  size_t hold_bytes_;
  char delimiter_;
  std::array<bool, 256> special_ = {};  // bytes that end a run of plain text in an unquoted field
  size_t columns_ = 0;
  std::optional<TemplateText> template_;
  // The fields of the wanted columns, each of at most hold_bytes_ + 2 bytes: of the columns in the
  // template, or of the one column that has the texts.
  std::vector<std::string> fields_;
  std::vector<std::string*> wanted_;  // for each column: where its field goes, or null

  int64_t line_ = 1;          // the line of the next byte, from 1
  int64_t record_begin_ = 0;  // offset in the decompressed bytes
  int64_t field_begin_ = 0;   // offset in the decompressed bytes
  int64_t field_line_ = 1;    // the line on which the field begins
  bool last_was_cr_ = false;  // true if the last byte read from an unquoted field is a CR
  bool record_has_quotes_ = false;
  int64_t record_text_bytes_ = 0;  // without delimiters, enclosing quotes and the LF at the end
  RowProblem problem_;
};

CsvParser::CsvParser(ByteWindow& window, const InputOptions& options, char delimiter)
    : window_(window),
      path_(options.path),
      hold_bytes_(static_cast<size_t>(kMaxHeaderBytes)),
      delimiter_(delimiter) {
  if (delimiter == kCsvDelimiters.front()) find_delimiter();
  for (const char c : {delimiter_, '\n', '"'}) special_[static_cast<unsigned char>(c)] = true;
  if (!options.text_template.empty()) template_.emplace(options);
  read_header(fields_of(options));
  hold_bytes_ = static_cast<size_t>(options.max_row_bytes);
}

// Looks at the header line outside of its quotes.
void CsvParser::find_delimiter() {
  bool quoted = false;
  size_t best = kCsvDelimiters.size();
  for (size_t i = 0; i < hold_bytes_; ++i) {
    if (i == window_.view().size() && !window_.extend()) break;
    const char c = window_.view()[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n') break;
    best = std::min(best, kCsvDelimiters.find(c));
  }
  if (best < kCsvDelimiters.size()) delimiter_ = kCsvDelimiters[best];
}

void CsvParser::read_header(const std::vector<std::string>& columns) {
  if (peek() < 0) {
    fail({.code = "csv.header",
          .what = "the file is empty",
          .expected = "column names in the first row",
          .found = "no bytes"},
         1, "check that this is the file you meant; a table has at least a header row");
  }
  begin_record();
  std::vector<std::string> names;
  FieldEnd end = FieldEnd::kDelimiter;
  while (end == FieldEnd::kDelimiter) {
    end = read_field(&names.emplace_back());
    if (window_.offset() - record_begin_ > kMaxHeaderBytes ||
        static_cast<int64_t>(names.size()) > kMaxCsvColumns) {
      fail({.code = "csv.header",
            .what = "the header row is too long",
            .expected = fmt::format("at most {} columns in 1 MiB", kMaxCsvColumns),
            .found = fmt::format("more: {} columns in {} bytes so far", names.size(),
                                 window_.offset() - record_begin_)},
           1, "check that the first line holds the column names");
    }
  }
  if (problem_) fail(problem_, 1, "correct the quotes of the header row");
  columns_ = names.size();
  fields_.resize(columns.size());
  wanted_.resize(columns_);
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), columns[i]);
    if (found == names.end() || std::count(found, names.end(), columns[i]) != 1)
      refuse_column(columns[i], names);
    wanted_[static_cast<size_t>(found - names.begin())] = &fields_[i];
  }
}

// Refuses a column that the header does not have, or has several times.
void CsvParser::refuse_column(const std::string& column,
                              const std::vector<std::string>& names) const {
  constexpr size_t kMostShown = 400;
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + preview(name, 40);
  const bool absent = std::find(names.begin(), names.end(), column) == names.end();
  const std::string near = nearest(column, names.data(), names.size());
  std::string hint = column_hint(names.size(), delimiter_);
  if (!near.empty() && absent) {
    hint = fmt::format("did you mean '{}'?", preview(near));
  } else if (absent && is_number(column)) {
    hint = advice_about_number(path_, names.size(), delimiter_);
  }
  throw Error({.code = "csv.column",
               .what = fmt::format("{} named '{}'", absent ? "no column is" : "several columns are",
                                   preview(column)),
               .where = fmt::format("{}:1", path_),
               .expected = fmt::format("one column '{}'", preview(column)),
               .found = list.size() > kMostShown ? list.substr(0, kMostShown) + ", ..." : list,
               .hint = std::move(hint)});
}

bool CsvParser::next(Record& record) {
  if (peek() < 0) return false;
  begin_record();
  record.begin(line_, record_begin_);
  for (std::string& field : fields_) field.clear();
  size_t fields = 0;
  FieldEnd end = FieldEnd::kDelimiter;
  while (end == FieldEnd::kDelimiter) {
    end = read_field(fields < columns_ ? wanted_[fields] : nullptr);
    ++fields;
  }
  if (fields != columns_ && !problem_) {
    const bool blank =
        fields == 1 && !record_has_quotes_ && record_text_bytes_ == (last_was_cr_ ? 1 : 0);
    if (blank && window_.at_end()) return false;
    set_problem("csv.fields", "wrong number of fields",
                format_count(static_cast<int64_t>(fields), "field", "fields"));
    problem_.expected = fmt::format(
        "{}, as in the header", format_count(static_cast<int64_t>(columns_), "field", "fields"));
  }
  if (problem_) {
    record.problem = problem_;
  } else {
    set_text(record);
  }
  return true;
}

void CsvParser::set_text(Record& record) {
  const auto too_long = [&](const std::string& field) { return field.size() > hold_bytes_; };
  if (std::any_of(fields_.begin(), fields_.end(), too_long)) {
    record.problem = too_long_problem(static_cast<int64_t>(hold_bytes_));
    return;
  }
  if (!template_) {
    record.text = fields_.front();
    record.type = FilterValue::Kind::kUntyped;
    return;
  }
  for (size_t i = 0; i < fields_.size(); ++i) template_->set(i, fields_[i]);
  template_->finish(record);
}

void CsvParser::begin_record() {
  record_begin_ = window_.offset();
  record_has_quotes_ = false;
  record_text_bytes_ = 0;
  problem_.code = {};
}

CsvParser::FieldEnd CsvParser::read_field(std::string* wanted) {
  field_begin_ = window_.offset();
  field_line_ = line_;
  last_was_cr_ = false;
  if (peek() != '"') return read_unquoted(wanted);
  record_has_quotes_ = true;
  window_.consume(1);
  read_quoted(wanted);
  return read_after_quote(wanted);
}

// Reads a quoted field from the byte after its opening quote to its closing quote, which it
// consumes. Line ends between the quotes are text.
void CsvParser::read_quoted(std::string* wanted) {
  for (;;) {
    if (peek() < 0) {
      fail({.code = "csv.quote",
            .what = "a quoted field is not closed",
            .expected = "a closing quote",
            .found = "the end of the file"},
           field_line_, "close the quote that opens on this line");
    }
    const std::string_view view = window_.view();
    const size_t size = std::min(view.find('"'), view.size());
    const bool quote = size < view.size();
    line_ += count_line_feeds(view.substr(0, size));
    take(size, wanted);
    if (!quote) continue;
    window_.consume(1);
    if (peek() != '"') return;
    take(1, wanted);
  }
}

// Reads from the byte after a closing quote to the end of the field. If there are bytes between the
// quote and the end, the record gets a problem.
CsvParser::FieldEnd CsvParser::read_after_quote(std::string* wanted) {
  int c = peek();
  if (c == '\r') {
    window_.consume(1);
    c = peek();
    if (c == '\n') return end_record(wanted, true);
    set_problem("csv.quote", "text after a closing quote", "a carriage return without a line feed");
  } else if (c >= 0 && c != '\n' && c != delimiter_) {
    set_problem("csv.quote", "text after a closing quote",
                fmt::format("'{}'", preview(window_.view().substr(0, 1))));
  }
  return read_unquoted(wanted);
}

// Reads the rest of an unquoted field, and the delimiter or line end after it.
CsvParser::FieldEnd CsvParser::read_unquoted(std::string* wanted) {
  for (;;) {
    const int c = peek();
    if (c == '\n' || c < 0) return end_record(wanted, c == '\n');
    if (c == delimiter_) {
      window_.consume(1);
      return FieldEnd::kDelimiter;
    }
    if (c == '"') set_problem("csv.quote", "a quote inside an unquoted field", "a quote");
    const std::string_view view = window_.view();
    size_t size = 1;
    while (size < view.size() && !special_[static_cast<unsigned char>(view[size])]) ++size;
    last_was_cr_ = view[size - 1] == '\r';
    take(size, wanted);
  }
}

CsvParser::FieldEnd CsvParser::end_record(std::string* wanted, bool line_end) {
  last_was_cr_ = last_was_cr_ && line_end;
  if (line_end) {
    window_.consume(1);
    ++line_;
  }
  if (wanted != nullptr && last_was_cr_) wanted->pop_back();
  return FieldEnd::kRecord;
}

// Consumes `size` bytes of the view. Appends them to `wanted`, unless it is null. It keeps at most
// hold_bytes_ + 2 bytes. These are enough to see that the field is too long, even if the
// last byte is the CR of a line end.
void CsvParser::take(size_t size, std::string* wanted) {
  if (wanted != nullptr) {
    const size_t room = hold_bytes_ + 2 - std::min(wanted->size(), hold_bytes_ + 2);
    wanted->append(window_.view().substr(0, std::min(size, room)));
  }
  record_text_bytes_ += static_cast<int64_t>(size);
  window_.consume(size);
  const bool field_over = window_.offset() - field_begin_ > kMaxCsvFieldBytes;
  if (!field_over && window_.offset() - record_begin_ <= kMaxRecordBytes) return;
  const int64_t limit = field_over ? kMaxCsvFieldBytes : kMaxRecordBytes;
  const int64_t begin = field_over ? field_begin_ : record_begin_;
  fail({.code = field_over ? ErrorCode("csv.field_limit") : "text.record_limit",
        .what = field_over ? "a field is too long" : "a record is too long",
        .expected = fmt::format("at most {} bytes", limit),
        .found = fmt::format("{} bytes so far", window_.offset() - begin)},
       field_line_, "look for a quote that opens on this line and is never closed");
}

// Returns the next byte without consuming it, or -1 at the end of the input.
int CsvParser::peek() {
  if (window_.view().empty() && !window_.extend()) return -1;
  return static_cast<unsigned char>(window_.view().front());
}

void CsvParser::set_problem(ErrorCode code, std::string what, std::string found) {
  if (problem_) return;  // keeps the first problem, because it may be the cause of the others
  problem_ = {.code = code,
              .what = std::move(what),
              .expected = "RFC 4180: a field that contains quotes is quoted, and they are doubled",
              .found = std::move(found)};
}

void CsvParser::fail(const RowProblem& problem, int64_t line, std::string hint) const {
  throw Error({.code = problem.code,
               .exit_code = ExitCode::kData,
               .what = problem.what,
               .where = fmt::format("{}:{}", path_, line),
               .expected = problem.expected,
               .found = problem.found,
               .hint = std::move(hint)});
}

void CsvParser::seek(int64_t offset_bytes, int64_t line) {
  window_.seek(offset_bytes);
  line_ = line;
}

}  // namespace

std::unique_ptr<RecordParser> make_csv_parser(ByteWindow& window, const InputOptions& options,
                                              bool /*any_values*/) {
  return std::make_unique<CsvParser>(window, options, kCsvDelimiters.front());
}

std::unique_ptr<RecordParser> make_tsv_parser(ByteWindow& window, const InputOptions& options,
                                              bool /*any_values*/) {
  return std::make_unique<CsvParser>(window, options, '\t');
}

}  // namespace encode
