// The parser of JSONL: each line is a JSON document. A row is one string of the document, or one
// array of token ids.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <simdjson.h>

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "text/json_advice.h"
#include "text/json_field.h"
#include "text/json_repair.h"
#include "text/line_splitter.h"
#include "text/record.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;
static_assert(ByteWindow::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

// Returns the largest size of a line. simdjson needs the whole line in memory, and up to 14 times
// as much for itself. So if rows are small, the limit is below kMaxRecordBytes. The factor is 8
// because an escape such as \u0000 takes six bytes for one byte of text. The rest is for other
// fields.
int64_t line_hold_bytes(int64_t max_row_bytes) {
  return std::min(kMaxRecordBytes, 8 * max_row_bytes + (int64_t{1} << 20));
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view type_name(dom::element value) {
  switch (value.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// Describes a line that is not JSON. simdjson does not say where, so another parser looks for it.
RowProblem syntax_problem(std::string_view line, simdjson::error_code error) {
  const std::optional<JsonFault> fault = find_json_fault(line);
  return {.code = "jsonl.syntax",
          .what = "the line is not a JSON document",
          .expected = "one JSON document (RFC 8259)",
          .found = fault ? fmt::format("{}, at column {}", fault->reason, fault->offset + 1)
                         : simdjson::error_message(error)};
}

class JsonlParser final : public RecordParser {
 public:
  JsonlParser(ByteWindow& window, const InputOptions& options, bool any_values)
      : hold_bytes_(line_hold_bytes(options.max_row_bytes)),
        lines_(window, hold_bytes_, options.path),
        path_(options.field),
        repair_(options.utf8 == Utf8Policy::kReplace),
        any_values_(any_values),
        advises_(!any_values && options.bad_row == BadRowPolicy::kError) {
    // simdjson counts the root of the document as a level, so its limit is kMaxJsonDepth + 1.
    constexpr size_t kFirstCapacity = size_t{64} << 10;
    if (parser_.allocate(kFirstCapacity, kMaxJsonDepth + 1) != simdjson::SUCCESS) {
      throw std::bad_alloc();
    }
  }

  bool next(Record& record) override;
  void seek(int64_t offset_bytes, int64_t line) override { lines_.seek(offset_bytes, line); }

 private:
  void parse(std::string_view line, Record& record);
  void parse_repaired(std::string_view line, simdjson::error_code first_error, Record& record);
  void find_row(dom::element root, Record& record);
  void take_ids(dom::array array, Record& record);
  void take_value(dom::element value, Record& record);
  bool step(dom::element& value, const std::string& token, Record& record) const;
  bool step_into_object(dom::element& value, const std::string& token, Record& record) const;

  int64_t hold_bytes_;
  LineSplitter lines_;
  JsonFieldPath path_;
  bool repair_;
  bool any_values_;
  bool advises_;       // the first problem of a field ends the run, so it may cost time
  std::string value_;  // the text of a value that is no string
  dom::parser parser_;
  std::string repaired_line_;
  bool changed_numbers_ = false;  // true if the line has numbers that were shortened or replaced
  std::vector<int32_t> input_ids_;
};

bool JsonlParser::next(Record& record) {
  Line line;
  if (!lines_.next(line)) return false;
  record.line = line.number;
  record.offset_bytes = line.offset_bytes;
  record.text = {};
  record.tokenized = false;
  record.input_ids = {};
  record.problem.code = {};
  if (line.too_long) {
    record.problem = too_long_problem(hold_bytes_);
    record.problem.what = "the line is too long";
  } else if (is_blank(line.bytes)) {
    if (lines_.only_blank_left()) return false;
    record.problem = {.code = "jsonl.blank",
                      .what = "blank line",
                      .expected = "a JSON object, or nothing else up to the end of the file",
                      .found = "no text"};
  } else {
    parse(line.bytes, record);
  }
  return true;
}

void JsonlParser::parse(std::string_view line, Record& record) {
  changed_numbers_ = false;
  dom::element root;
  const auto error = parser_.parse(line.data(), line.size(), false).get(root);
  if (error != simdjson::SUCCESS) {
    parse_repaired(line, error, record);
  } else {
    find_row(root, record);
  }
}

// Parses a line that simdjson has refused again, after repairs. Integers of more than 64 bits are
// always shortened, and numbers beyond double are always replaced. Invalid UTF-8 and lone
// surrogates in escapes are replaced if repair_ is true. Any other fault makes the record a bad
// row.
void JsonlParser::parse_repaired(std::string_view line, simdjson::error_code first_error,
                                 Record& record) {
  const bool bad_bytes = !is_valid_utf8(line);
  if (bad_bytes && !repair_) {
    record.problem = {.code = "text.utf8",
                      .what = "the line is not valid UTF-8",
                      .expected = "UTF-8",
                      .found = fmt::format("an invalid sequence at byte {} of the line",
                                           first_invalid_utf8(line))};
    return;
  }
  repaired_line_.clear();
  append_repaired_utf8(line, repaired_line_);
  const bool bad_escapes = replace_lone_surrogate_escapes(repaired_line_);
  if (bad_escapes && !repair_) {
    record.problem = {.code = "text.utf8",
                      .what = "an escape is half of a surrogate pair",
                      .expected = "a Unicode character",
                      .found = "\\ud800 to \\udfff without its other half"};
    return;
  }
  const bool big = shorten_big_integers(repaired_line_);
  const bool huge = replace_huge_numbers(repaired_line_);
  changed_numbers_ = big || huge;
  dom::element root;
  auto error = first_error;
  if (bad_bytes || bad_escapes || changed_numbers_) error = parser_.parse(repaired_line_).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::DEPTH_ERROR) {
    record.problem = {.code = "jsonl.depth",
                      .what = "the JSON document is nested too deeply",
                      .expected = fmt::format("at most {} levels", kMaxJsonDepth),
                      .found = "more levels"};
    return;
  }
  if (error != simdjson::SUCCESS) {
    // The repaired line has no number that is out of range, so the fault is the one that counts.
    record.problem = syntax_problem(changed_numbers_ ? repaired_line_ : line, error);
    return;
  }
  find_row(root, record);
  // A repair counts only if it has changed the text of the row.
  record.replaced =
      (bad_bytes || bad_escapes) && record.text.find("\xEF\xBF\xBD") != std::string_view::npos;
}

void JsonlParser::find_row(dom::element root, Record& record) {
  dom::element value = root;
  for (const std::string& token : path_.tokens()) {
    if (step(value, token, record)) continue;
    if (advises_ && record.problem.code == "jsonl.missing")
      advise_missing_field(root, value, token, record.problem);
    return;
  }
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    record.text = text;
    return;
  }
  if (any_values_ && !value.is_null()) return take_value(value, record);
  if (dom::array array; value.get_array().get(array) == simdjson::SUCCESS) {
    take_ids(array, record);
    return;
  }
  record.problem = {.code = "jsonl.type",
                    .what = fmt::format("the field '{}' is not text", preview(path_.spelled())),
                    .expected = "a string, or an array of token ids",
                    .found = std::string(type_name(value))};
  if (advises_) advise_object_field(value, path_.spelled(), record.problem);
}

// Writes a value that is no string as JSON.
void JsonlParser::take_value(dom::element value, Record& record) {
  if (changed_numbers_) {  // the digits would not be those of the file
    record.problem = {
        .code = "jsonl.number",
        .what = fmt::format("the field '{}' cannot be copied", preview(path_.spelled())),
        .expected =
            "a string, or only numbers on the line that fit a double and have at most 18 "
            "digits without a fraction",
        .found = "a larger or longer number"};
    return;
  }
  value_ = simdjson::minify(value);
  record.text = value_;
}

void JsonlParser::take_ids(dom::array array, Record& record) {
  input_ids_.clear();
  for (const dom::element element : array) {
    int64_t id = -1;
    if (element.get_int64().get(id) != simdjson::SUCCESS || id < 0 ||
        id > std::numeric_limits<int32_t>::max()) {
      // The digits of a changed number are not the digits of the file, so they are not shown.
      const bool is_shortened = changed_numbers_ && std::abs(id) >= kShortenedInteger;
      const bool is_replaced = changed_numbers_ && element.is_double();
      record.problem = {.code = "jsonl.input_ids",
                        .what = fmt::format("the field '{}' is not a list of token ids",
                                            preview(path_.spelled())),
                        .expected = "integers in [0, 2147483648)",
                        .found = fmt::format("{} as entry {}",
                                             is_shortened  ? "an integer of more than 18 digits"
                                             : is_replaced ? "a number that is no integer"
                                                           : preview(simdjson::minify(element)),
                                             input_ids_.size())};
      return;
    }
    input_ids_.push_back(static_cast<int32_t>(id));
  }
  record.tokenized = true;
  record.input_ids = input_ids_;
}

bool JsonlParser::step(dom::element& value, const std::string& token, Record& record) const {
  if (value.is_object()) return step_into_object(value, token, record);
  dom::array array;
  const int64_t index = JsonFieldPath::array_index(token);
  if (index >= 0 && value.get_array().get(array) == simdjson::SUCCESS &&
      array.at(static_cast<size_t>(index)).get(value) == simdjson::SUCCESS) {
    return true;
  }
  record.problem = {.code = "jsonl.missing",
                    .what = fmt::format("the field '{}' is missing", preview(path_.spelled())),
                    .expected = fmt::format("'{}'", preview(token)),
                    .found = fmt::format("no such entry in {}", type_name(value))};
  return false;
}

bool JsonlParser::step_into_object(dom::element& value, const std::string& token,
                                   Record& record) const {
  const dom::object object = value.get_object().value_unsafe();
  int matches = 0;
  for (const dom::key_value_pair field : object) {
    if (field.key != token) continue;
    value = field.value;
    ++matches;
  }
  if (matches == 1) return true;
  const bool missing = matches == 0;
  record.problem = {.code = missing ? "jsonl.missing" : "jsonl.duplicate",
                    .what = fmt::format("the field '{}' {}", preview(path_.spelled()),
                                        missing ? "is missing" : "occurs more than once"),
                    .expected = fmt::format("'{}' once", preview(token)),
                    .found = fmt::format("{} fields with this name", matches)};
  return false;
}

}  // namespace

std::unique_ptr<RecordParser> make_jsonl_parser(ByteWindow& window, const InputOptions& options,
                                                bool any_values) {
  return std::make_unique<JsonlParser>(window, options, any_values);
}

}  // namespace encode
