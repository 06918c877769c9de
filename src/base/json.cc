#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"

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

// Builds the document. Unlike nlohmann's own builder, it refuses duplicate keys, deep nesting and
// numbers that are too large for a double.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit StrictBuilder(int max_depth) : max_depth_(max_depth) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& text) override {
    if (std::isfinite(value)) return add(value);
    problem_ = fmt::format("the number {} is out of range", text.substr(0, 40));
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
    if (!is_new)
      problem_ = fmt::format("the key '{}' appears twice in one object", name.substr(0, 80));
    return is_new;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& error) override {
    position_ = position;
    problem_ = error.what();
    // Removes the prefix "[json.exception.parse_error.101] parse error at line 1, column 2: ".
    if (const size_t at = problem_.find(": "); at != std::string::npos) problem_.erase(0, at + 2);
    return false;
  }

  Json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  size_t position() const { return position_; }

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

  int max_depth_;
  Json root_;
  std::vector<Json*> open_;  // the arrays and objects that are not closed yet, the outermost first
  Json* value_ = nullptr;    // the value of the last key
  std::string problem_;
  size_t position_ = 0;
};

[[noreturn]] void refuse_document(std::string what, const std::string& where, std::string_view code,
                                  std::string found) {
  throw Error({.exit_code = ExitCode::kConfig,
               .code = std::string(code),
               .what = std::move(what),
               .where = where,
               .expected = "JSON (RFC 8259) with unique keys",
               .found = std::move(found),
               .hint = "copy or download the file again"});
}

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits, const std::string& where,
                std::string_view code) {
  if (static_cast<int64_t>(text.size()) > limits.max_bytes) {
    refuse_document("the JSON document is too large", where, code,
                    fmt::format("{} bytes, the limit is {}", text.size(), limits.max_bytes));
  }
  // nlohmann's parser would take a NUL as the end of the text and ignore the bytes after it.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    refuse_document("malformed JSON", fmt::format("{}:{}", where, line_and_column(text, nul)), code,
                    "a NUL byte");
  }
  StrictBuilder builder(limits.max_depth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    const std::string place =
        builder.position() > 0
            ? fmt::format("{}:{}", where, line_and_column(text, builder.position() - 1))
            : where;
    refuse_document("malformed JSON", place, code, builder.problem());
  }
  return builder.take();
}

Json read_json_file(const std::string& path, const JsonLimits& limits, std::string_view code) {
  return parse_json(read_file(path, limits.max_bytes, code), limits, path, code);
}

JsonFields::JsonFields(const Json& object, std::string where, std::string code)
    : object_(object), where_(std::move(where)), code_(std::move(code)) {
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
  if (found == object_.end()) refuse(key, std::string(expected), "the key is missing");
  return *found;
}

void JsonFields::refuse(const std::string& key, const std::string& expected,
                        const std::string& found) const {
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = code_,
       .what = fmt::format("bad value for '{}'", key),
       .where = where_,
       .expected = expected,
       .found = found,
       .hint =
           "download the file again if it is damaged, or choose another model: encode accepts no "
           "other value"});
}

int64_t JsonFields::integer(const std::string& key, int64_t min, int64_t max) const {
  const std::string expected = fmt::format("an integer from {} to {}", min, max);
  const Json& value = at(key, expected);
  if (!value.is_number_integer()) refuse(key, expected, value.dump().substr(0, 80));
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (too_large || value.get<int64_t>() < min || value.get<int64_t>() > max)
    refuse(key, expected, value.dump());
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
    refuse(key, expected, value.dump().substr(0, 80));
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
  if (!value.is_boolean()) refuse(key, "true or false", value.dump().substr(0, 80));
  return value.get<bool>();
}

std::string JsonFields::string(const std::string& key) const {
  const Json& value = at(key, "a string");
  if (!value.is_string()) refuse(key, "a string", value.dump().substr(0, 80));
  return value.get<std::string>();
}

std::string JsonFields::string_or(const std::string& key, const std::string& fallback) const {
  return has(key) ? string(key) : fallback;
}

const Json& JsonFields::object(const std::string& key) const {
  const Json& value = at(key, "an object");
  if (!value.is_object()) refuse(key, "an object", value.dump().substr(0, 80));
  return value;
}

const Json& JsonFields::array(const std::string& key) const {
  const Json& value = at(key, "an array");
  if (!value.is_array()) refuse(key, "an array", value.dump().substr(0, 80));
  return value;
}

}  // namespace encode
