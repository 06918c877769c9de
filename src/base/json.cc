#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

std::string line_and_column(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return fmt::format("{}:{}", line, column);
}

std::string reason_at(std::string_view rest, std::string_view message) {
  if (rest.empty()) return "the end of the text inside the document";
  if (message.find("expected end of input") != std::string_view::npos)
    return "text after the end of the document";
  for (const std::string_view name : {"NaN", "Infinity", "-Infinity", "undefined", "None"}) {
    if (rest.starts_with(name)) return fmt::format("{}, which JSON does not have", name);
  }
  if (rest.starts_with(kByteOrderMark)) return "a byte order mark, which JSON does not have";
  if (message.find("number overflow") != std::string_view::npos)
    return "a number that is out of range";
  if (static_cast<unsigned char>(rest.front()) < 0x20)
    return fmt::format("the control character {}, which JSON spells \\u{:04x}",
                       preview(rest.substr(0, 1)), static_cast<int>(rest.front()));
  constexpr size_t kShownBytes = 12;
  return fmt::format("unexpected text: {}", preview(rest, kShownBytes));
}

// Turns the report of nlohmann's parser, which has read `position` bytes and ends with `token`,
// into a fault of `text`.
JsonFault fault_of(std::string_view text, size_t position, std::string_view token,
                   std::string_view message) {
  // "unexpected ..." is said of a whole token, and anything else of the last byte.
  const bool whole_token = message.find("unexpected") != std::string_view::npos &&
                           message.find("unexpected end of input") == std::string_view::npos;
  const bool at_end = message.find("unexpected end of input") != std::string_view::npos ||
                      message.find("missing closing quote") != std::string_view::npos;
  // `token` is wrong for a brace, a bracket, a comma or a colon.
  const bool one_byte = message.find("unexpected '") != std::string_view::npos;
  const size_t back = whole_token && !one_byte ? std::max<size_t>(token.size(), 1) : 1;
  size_t offset = at_end ? text.size() : position - std::min(position, back);
  if (offset > 0 && offset < text.size() && text[offset] == 'I' && text[offset - 1] == '-')
    --offset;  // -Infinity
  offset = std::min(offset, text.size());
  return {.offset = offset, .reason = reason_at(text.substr(offset), message)};
}

// Only looks for the first fault.
class FaultFinder : public nlohmann::json_sax<Json> {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(int64_t /*value*/) override { return true; }
  bool number_unsigned(uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(Json::binary_t& /*value*/) override { return true; }
  bool start_object(size_t /*elements*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool key(std::string& /*name*/) override { return true; }
  bool parse_error(size_t position, const std::string& token,
                   const Json::exception& error) override {
    fault_ = fault_of(text_, position, token, error.what());
    return false;
  }

  const std::optional<JsonFault>& fault() const { return fault_; }

 private:
  std::string_view text_;
  std::optional<JsonFault> fault_;
};

// Builds the document. Unlike nlohmann's own builder, it refuses duplicate keys, deep nesting and
// numbers that are too large for a double.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& text) override {
    if (std::isfinite(value)) return add(value);
    problem_ = fmt::format("the number {} is out of range", preview(text, 40));
    return false;
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // never called for JSON text

  bool start_object(size_t /*elements*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(size_t /*elements*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const auto [entry, is_new] = open_.back()->emplace(name, nullptr);
    value_ = &*entry;
    if (!is_new) problem_ = fmt::format("the key '{}' appears twice in one object", preview(name));
    return is_new;
  }

  bool parse_error(size_t position, const std::string& token,
                   const Json::exception& error) override {
    const JsonFault fault = fault_of(text_, position, token, error.what());
    offset_ = fault.offset;
    problem_ = fault.reason;
    return false;
  }

  Json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  size_t offset() const { return offset_; }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() >= static_cast<size_t>(max_depth_)) {
      problem_ = fmt::format("nested deeper than {}", max_depth_);
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // Adds `value` to the innermost open array or object and returns the address of the copy. The
  // address is valid until the value is closed, because its parent does not grow before that.
  Json* place(Json value) {
    Json* where = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      where = &open_.back()->emplace_back();
    } else if (!open_.empty()) {
      where = value_;
    }
    *where = std::move(value);
    return where;
  }

  std::string_view text_;
  int max_depth_;
  Json root_;
  std::vector<Json*> open_;  // the arrays and objects that are not closed yet, the outermost first
  Json* value_ = nullptr;    // the value of the last key
  std::string problem_;
  size_t offset_ = std::string::npos;  // of the problem, if the parser has found it
};

[[noreturn]] void refuse_document(std::string what, const std::string& where, ErrorCode code,
                                  std::string found) {
  throw Error({.code = code,
               .exit_code = ExitCode::kConfig,
               .what = std::move(what),
               .where = where,
               .expected = "JSON (RFC 8259) with unique keys",
               .found = std::move(found),
               .hint = "correct the file, or copy or download it again"});
}

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) {
  // nlohmann's parser would skip a byte order mark, and would take a NUL as the end of the text.
  if (text.starts_with(kByteOrderMark)) return JsonFault{0, reason_at(text, "")};
  const std::string_view before_nul = text.substr(0, text.find('\0'));
  FaultFinder finder(text);
  Json::sax_parse(before_nul.begin(), before_nul.end(), &finder);
  if (before_nul.size() == text.size()) return finder.fault();
  if (finder.fault() && finder.fault()->offset < before_nul.size()) return finder.fault();
  return JsonFault{before_nul.size(), reason_at(text.substr(before_nul.size()), "")};
}

Json parse_json(std::string_view text, const JsonLimits& limits, const std::string& where,
                ErrorCode code) {
  if (static_cast<int64_t>(text.size()) > limits.max_bytes) {
    refuse_document("the JSON document is too large", where, code,
                    fmt::format("{} bytes, the limit is {}", text.size(), limits.max_bytes));
  }
  // A NUL would end the text, as in find_json_fault().
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    refuse_document("malformed JSON", fmt::format("{}:{}", where, line_and_column(text, nul)), code,
                    "a NUL byte");
  }
  StrictBuilder builder(text, limits.max_depth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    const std::string place =
        builder.offset() != std::string::npos
            ? fmt::format("{}:{}", where, line_and_column(text, builder.offset()))
            : where;
    refuse_document("malformed JSON", place, code, builder.problem());
  }
  return builder.take();
}

Json read_json_file(const std::string& path, const JsonLimits& limits, ErrorCode code) {
  return parse_json(read_file(path, limits.max_bytes, code), limits, path, code);
}

JsonFields::JsonFields(const Json& object, std::string where, ErrorCode code)
    : object_(object), where_(std::move(where)), code_(code) {
  if (!object_.is_object()) {
    refuse_document("not a JSON object", where_, code_,
                    fmt::format("a value of type {}", object_.type_name()));
  }
}

bool JsonFields::has(const std::string& key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& JsonFields::at(const std::string& key, std::string_view expected) const {
  const auto found = object_.find(key);
  if (found == object_.end()) refuse(key, std::string(expected));
  return *found;
}

std::string JsonFields::shown(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) return "the key is missing";
  if (!found->is_string()) return preview(found->dump());
  return fmt::format("'{}'", preview(found->get_ref<const std::string&>()));
}

void JsonFields::refuse(const std::string& key, const std::string& expected,
                        const std::optional<std::string>& found) const {
  throw Error({.code = code_,
               .exit_code = ExitCode::kConfig,
               .what = fmt::format("bad value for '{}'", preview(key)),
               .where = where_,
               .expected = expected,
               .found = found ? *found : shown(key),
               .hint = "correct the value, or copy the file again: encode accepts no other value"});
}

void JsonFields::refuse_variant(const std::string& key, const std::string& expected,
                                const std::optional<std::string>& found) const {
  throw Error({.code = code_,
               .exit_code = ExitCode::kConfig,
               .what = fmt::format("unsupported value for '{}'", preview(key)),
               .where = where_,
               .expected = expected,
               .found = found ? *found : shown(key),
               .hint = "encode does not have this variant; choose another model; do not edit the "
                       "value, because the file would then describe another model"});
}

JsonFields JsonFields::fields(const std::string& key) const {
  return {object(key), fmt::format("{}: {}", where_, key), code_};
}

int64_t JsonFields::integer(const std::string& key, int64_t min, int64_t max) const {
  const std::string expected = fmt::format("an integer from {} to {}", min, max);
  const Json& value = at(key, expected);
  if (!value.is_number_integer()) refuse(key, expected, preview(value.dump()));
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (too_large || value.get<int64_t>() < min || value.get<int64_t>() > max)
    refuse(key, expected, preview(value.dump()));
  return value.get<int64_t>();
}

int64_t JsonFields::integer_or(const std::string& key, int64_t fallback, int64_t min,
                               int64_t max) const {
  return has(key) ? integer(key, min, max) : fallback;
}

double JsonFields::number(const std::string& key, double min, double max) const {
  const std::string expected = fmt::format("a number from {} to {}", min, max);
  const Json& value = at(key, expected);
  if (!value.is_number() || value.get<double>() < min || value.get<double>() > max) {
    refuse(key, expected, preview(value.dump()));
  }
  return value.get<double>();
}

double JsonFields::number_or(const std::string& key, double fallback, double min,
                             double max) const {
  return has(key) ? number(key, min, max) : fallback;
}

bool JsonFields::boolean_or(const std::string& key, bool fallback) const {
  if (!has(key)) return fallback;
  const Json& value = object_.at(key);
  if (!value.is_boolean()) refuse(key, "true or false", preview(value.dump()));
  return value.get<bool>();
}

std::string JsonFields::string(const std::string& key) const {
  const Json& value = at(key, "a string");
  if (!value.is_string()) refuse(key, "a string", preview(value.dump()));
  return value.get<std::string>();
}

std::string JsonFields::string_or(const std::string& key, const std::string& fallback) const {
  return has(key) ? string(key) : fallback;
}

const Json& JsonFields::object(const std::string& key) const {
  const Json& value = at(key, "an object");
  if (!value.is_object()) refuse(key, "an object", preview(value.dump()));
  return value;
}

const Json& JsonFields::array(const std::string& key) const {
  const Json& value = at(key, "an array");
  if (!value.is_array()) refuse(key, "an array", preview(value.dump()));
  return value;
}

}  // namespace encode
