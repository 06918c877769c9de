#include "text/json_document.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "text/json_advice.h"
#include "text/json_repair.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;
static_assert(ByteWindow::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

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

// Makes `value` the entry of the array or the object that `token` names. The document is known to
// have one.
void step_in_source(ondemand::value& value, const std::string& token) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    value = value.get_array().at(static_cast<size_t>(JsonFieldPath::array_index(token))).value();
    return;
  }
  for (ondemand::field entry : object) {
    if (std::string_view(entry.unescaped_key()) != token) continue;
    value = entry.value();
    return;
  }
}

}  // namespace

// The factor is 8 because an escape such as \u0000 takes six bytes for one byte of text. The rest
// is for other fields.
int64_t document_hold_bytes(int64_t max_row_bytes) {
  return std::min(kMaxRecordBytes, 8 * max_row_bytes + (int64_t{1} << 20));
}

JsonDocument::JsonDocument(std::vector<JsonFieldPath> paths, const InputOptions& options,
                           std::string_view noun, bool any_values)
    : missing_is_empty_(options.missing_field == MissingFieldPolicy::kEmpty && !any_values),
      paths_(std::move(paths)),
      noun_(noun),
      repair_(options.utf8 == Utf8Policy::kReplace),
      any_values_(any_values),
      advises_(!any_values && !missing_is_empty_ && options.bad_row == BadRowPolicy::kError) {
  if (!options.text_template.empty()) template_.emplace(options);
  values_.resize(paths_.size());
  // simdjson counts the root of the document as a level, so its limit is kMaxJsonDepth + 1.
  constexpr size_t kFirstCapacity = size_t{64} << 10;
  if (parser_.allocate(kFirstCapacity, kMaxJsonDepth + 1) != simdjson::SUCCESS)
    throw std::bad_alloc();
}

void JsonDocument::read(std::string_view json, Record& record) {
  source_ = json;
  dom::element root;
  const auto error = parser_.parse(json.data(), json.size(), false).get(root);
  if (error != simdjson::SUCCESS) {
    read_repaired(json, error, record);
  } else {
    find_row(root, record);
  }
}

// Parses a document that simdjson has refused again, after repairs. Integers of more than 64 bits
// are always shortened, and numbers beyond double are always replaced. Invalid UTF-8 and lone
// surrogates in escapes are replaced if repair_ is true. Any other fault makes the record a bad
// row.
void JsonDocument::read_repaired(std::string_view json, simdjson::error_code first_error,
                                 Record& record) {
  const bool bad_bytes = !is_valid_utf8(json);
  if (bad_bytes && !repair_) {
    record.problem = {.code = "text.utf8",
                      .what = fmt::format("the {} is not valid UTF-8", noun_),
                      .expected = "UTF-8",
                      .found = fmt::format("an invalid sequence at byte {} of the {}",
                                           first_invalid_utf8(json), noun_)};
    return;
  }
  repaired_.clear();
  append_repaired_utf8(json, repaired_);
  const bool bad_escapes = replace_lone_surrogate_escapes(repaired_);
  if (bad_escapes && !repair_) {
    record.problem = {.code = "text.utf8",
                      .what = "an escape is half of a surrogate pair",
                      .expected = "a Unicode character",
                      .found = "\\ud800 to \\udfff without its other half"};
    return;
  }
  fitted_numbers_ = repaired_;
  const bool bad_numbers = fit_numbers(fitted_numbers_);
  repaired_.reserve(repaired_.size() + ByteWindow::kPaddingBytes);
  source_ = repaired_;
  dom::element root;
  auto error = first_error;
  if (bad_bytes || bad_escapes || bad_numbers) error = parser_.parse(fitted_numbers_).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::DEPTH_ERROR) {
    record.problem = {.code = "jsonl.depth",
                      .what = "the JSON document is nested too deeply",
                      .expected = fmt::format("at most {} levels", kMaxJsonDepth),
                      .found = "more levels"};
    return;
  }
  if (error != simdjson::SUCCESS) {
    // The repaired document has no number out of range, so the fault that is found is the real one.
    record.problem = syntax_problem(bad_numbers ? fitted_numbers_ : json, error);
    return;
  }
  find_row(root, record);
  // A repair counts only if it has changed the text of the row.
  record.replaced =
      (bad_bytes || bad_escapes) && record.text.find("\xEF\xBF\xBD") != std::string_view::npos;
}

// Describes a document that is not JSON. simdjson does not say where, so another parser looks for
// it.
RowProblem JsonDocument::syntax_problem(std::string_view json, simdjson::error_code error) const {
  const std::optional<JsonFault> fault = find_json_fault(json);
  return {.code = "jsonl.syntax",
          .what = fmt::format("the {} is not a JSON document", noun_),
          .expected = "one JSON document (RFC 8259)",
          .found = fault ? fmt::format("{}, at column {}", fault->reason, fault->offset + 1)
                         : simdjson::error_message(error)};
}

// Returns the name of the field for messages.
std::string JsonDocument::described(const JsonFieldPath& path) const {
  return path.tokens().empty() ? noun_ : fmt::format("field '{}'", preview(path.spelled()));
}

// Sets `value` to what the path leads to. Returns false, and gives the record a problem, if the
// document does not have it.
bool JsonDocument::find_value(const JsonFieldPath& path, dom::element root, dom::element& value,
                              Record& record) const {
  value = root;
  size_t depth = 0;
  for (const std::string& token : path.tokens()) {
    if (step(path, token, value, record)) {
      ++depth;
      continue;
    }
    if (advises_ && record.problem.code == "jsonl.missing")
      advise_missing_field(
          {.root = root, .parent = value, .path = path.pointer(depth), .name = token},
          record.problem);
    return false;
  }
  return true;
}

void JsonDocument::find_row(dom::element root, Record& record) {
  if (template_) {
    fill_template(root, record);
    return;
  }
  const JsonFieldPath& path = paths_.front();
  dom::element value;
  if (!find_value(path, root, value, record)) {
    // The text of the record is empty.
    if (record.problem.no_value && missing_is_empty_ && !root.is_null()) record.problem = {};
    return;
  }
  if (value.is_null() && missing_is_empty_ && !path.tokens().empty()) return;
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    record.text = text;
    return;
  }
  if (any_values_ && !value.is_null()) {
    values_.front() = written(path.tokens());
    record.text = values_.front();
    record.type = value.is_bool()     ? FilterValue::Kind::kBoolean
                  : value.is_number() ? FilterValue::Kind::kNumber
                                      : FilterValue::Kind::kOther;
    return;
  }
  const size_t depth = path.tokens().size();
  if (dom::array array; value.get_array().get(array) == simdjson::SUCCESS) {
    take_ids(array, record);
    // A list whose first entry is a token id is meant to be a list of token ids, so it needs no
    // advice.
    if (advises_ && record.problem && input_ids_.empty())
      advise_text_fields(root, value, path.pointer(depth), record.problem);
    return;
  }
  record.problem = {.code = "jsonl.type",
                    .what = fmt::format("the {} is not text", described(path)),
                    .expected = path.tokens().empty()
                                    ? "a string, an array of token ids, or a field of the objects"
                                    : "a string, or an array of token ids",
                    .found = std::string(type_name(value)),
                    .no_value = value.is_null()};
  if (advises_) advise_text_fields(root, value, path.pointer(depth), record.problem);
}

// Makes the text of the record from all fields of the template.
void JsonDocument::fill_template(dom::element root, Record& record) {
  if (!root.is_object() && !root.is_array()) {
    record.problem = {.code = "jsonl.type",
                      .what = fmt::format("the {} has no fields", noun_),
                      .expected = "an object, because the template names fields",
                      .found = std::string(type_name(root))};
    return;
  }
  for (size_t i = 0; i < paths_.size(); ++i) {
    dom::element value;
    RowProblem problem;
    if (!find_value(paths_[i], root, value, record)) {
      if (!record.problem.no_value) return;
      problem = std::exchange(record.problem, {});
    } else if (value.is_null()) {
      problem = {.code = "jsonl.type",
                 .what = fmt::format("the {} has no value", described(paths_[i])),
                 .expected = "a value",
                 .found = "null",
                 .no_value = true};
    }
    if (problem) {
      if (!template_->set_missing(i, problem, record)) return;
      continue;
    }
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS)
      text = values_[i] = written(paths_[i].tokens());
    template_->set(i, text);
  }
  template_->finish(record);
}

// Returns the value that `tokens` lead to as the document spells it, without the spaces outside of
// strings. So a number keeps its digits. The DOM, which holds numbers of 64 bits, has this value.
std::string JsonDocument::written(const std::vector<std::string>& tokens) {
  ondemand::document document;
  const simdjson::padded_string_view padded(source_.data(), source_.size(),
                                            source_.size() + ByteWindow::kPaddingBytes);
  if (source_parser_.iterate(padded).get(document) == simdjson::MEMALLOC) throw std::bad_alloc();
  std::string_view raw = source_;
  if (!tokens.empty()) {
    ondemand::value value = document.get_value();
    for (const std::string& token : tokens) step_in_source(value, token);
    raw = simdjson::to_json_string(value);
  }
  std::string text(raw.size(), '\0');
  size_t size = 0;
  if (simdjson::minify(raw.data(), raw.size(), text.data(), size) == simdjson::MEMALLOC)
    throw std::bad_alloc();
  text.resize(size);
  return text;
}

void JsonDocument::take_ids(dom::array array, Record& record) {
  input_ids_.clear();
  for (const dom::element element : array) {
    int64_t id = -1;
    if (element.get_int64().get(id) != simdjson::SUCCESS || id < 0 ||
        id > std::numeric_limits<int32_t>::max()) {
      std::vector<std::string> entry = paths_.front().tokens();
      entry.push_back(fmt::to_string(input_ids_.size()));
      record.problem = {
          .code = "jsonl.input_ids",
          .what = fmt::format("the {} is not a list of token ids", described(paths_.front())),
          .expected = "integers in [0, 2147483648)",
          .found = fmt::format("{} as entry {}", preview(written(entry)), input_ids_.size())};
      return;
    }
    input_ids_.push_back(static_cast<int32_t>(id));
  }
  record.tokenized = true;
  record.input_ids = input_ids_;
}

// Makes `value` the entry of the array or the object that `token` names.
bool JsonDocument::step(const JsonFieldPath& path, const std::string& token, dom::element& value,
                        Record& record) const {
  if (value.is_object()) return step_into_object(path, token, value, record);
  dom::array array;
  const int64_t index = JsonFieldPath::array_index(token);
  const bool entry = index >= 0 && value.get_array().get(array) == simdjson::SUCCESS;
  if (entry && array.at(static_cast<size_t>(index)).get(value) == simdjson::SUCCESS) return true;
  record.problem = {.code = "jsonl.missing",
                    .what = fmt::format("the {} is missing", described(path)),
                    .expected = fmt::format("'{}'", preview(token)),
                    .found = fmt::format("no such entry in {}", type_name(value)),
                    .no_value = entry || value.is_null()};
  return false;
}

bool JsonDocument::step_into_object(const JsonFieldPath& path, const std::string& token,
                                    dom::element& value, Record& record) const {
  const dom::object object = value.get_object().value_unsafe();
  int matches = 0;
  for (const dom::key_value_pair entry : object) {
    if (entry.key != token) continue;
    value = entry.value;
    ++matches;
  }
  if (matches == 1) return true;
  const bool missing = matches == 0;
  record.problem = {.code = missing ? ErrorCode("jsonl.missing") : "jsonl.duplicate",
                    .what = fmt::format("the {} {}", described(path),
                                        missing ? "is missing" : "occurs more than once"),
                    .expected = fmt::format("'{}'{}", preview(token), missing ? "" : " once"),
                    .found = fmt::format("{} fields with this name", matches),
                    .no_value = missing};
  return false;
}

}  // namespace encode
