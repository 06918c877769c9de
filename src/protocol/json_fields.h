// Writes structs as JSON objects and reads them back, from one description of each struct.
//
// A struct S is described by a function that both JsonWriter and JsonReader call:
//
//   void fields(auto& archive, MaybeConst<S> auto& value) {
//     auto& [rows, name] = value;
//     archive("rows", rows)("name", name);
//   }
//
// The structured binding lists every member, so a new member of S does not compile until fields()
// handles it. An enumeration is described by a function names(Enum) that returns its NameTable.
#pragma once

#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encode/device.h"
#include "encode/error.h"

#include "base/json.h"
#include "base/names.h"
#include "protocol/protocol_refusal.h"

namespace encode {

// T is S or const S: the writer passes a const object to fields(), and the reader a mutable one.
template <class T, class S>
concept MaybeConst = std::same_as<std::remove_const_t<T>, S>;

// Writes a struct as a JSON object. Not thread-safe.
class JsonWriter {
 public:
  template <class T>
  JsonWriter& operator()(const char* key, const T& value) {
    object_[key] = to_value(value);
    return *this;
  }

  // Throws Error kInternal "job.protocol" for an enumerator without a name.
  template <class T>
  static Json to_value(const T& value) {
    if constexpr (std::same_as<T, ExitCode>) {
      return static_cast<int>(value);
    } else if constexpr (std::is_enum_v<T>) {
      const std::string_view name = name_of(names(value), value);
      if (name.empty())
        refuse_document("an enumerator has no name", fmt::to_string(static_cast<int>(value)));
      return name;
    } else if constexpr (std::same_as<T, ErrorCode>) {
      return value.name();
    } else if constexpr (std::same_as<T, DeviceChoice>) {
      return to_string(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else {
      JsonWriter writer;
      fields(writer, value);
      return std::move(writer.object_);
    }
  }
  template <class T>
  static Json to_value(const std::optional<T>& value) {
    return value ? to_value(*value) : Json();
  }
  template <class T>
  static Json to_value(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(to_value(value));
    return array;
  }
  template <class T>
  static Json to_value(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[key] = to_value(value);
    return object;
  }

 private:
  Json object_ = Json::object();
};

// Throws Error kInternal "job.protocol" for a field that is missing or has the wrong type. Ignores
// fields that the struct does not have. It borrows the object. Not thread-safe.
class JsonReader {
 public:
  explicit JsonReader(const Json& object) : object_(object) {
    if (!object.is_object()) refuse_document("the value is not a JSON object", object.type_name());
  }

  template <class T>
  JsonReader& operator()(const char* key, T& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse_document("a field is missing", key);
    from_value(key, *found, value);
    return *this;
  }

  template <class T>
  static T read(const Json& object) {
    T value;
    from_value("", object, value);
    return value;
  }

 private:
  [[noreturn]] static void wrong_type(const std::string& key, const Json& json) {
    refuse_document(fmt::format("the field '{}' has a bad value", key),
                    json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80));
  }

  static void from_value(const std::string& key, const Json& json, std::string& value) {
    if (!json.is_string()) wrong_type(key, json);
    value = json.get<std::string>();
  }
  static void from_value(const std::string& key, const Json& json, bool& value) {
    if (!json.is_boolean()) wrong_type(key, json);
    value = json.get<bool>();
  }
  static void from_value(const std::string& key, const Json& json, int64_t& value) {
    if (!json.is_number_integer()) wrong_type(key, json);
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (json.is_number_unsigned() && json.get<uint64_t>() > kMax) wrong_type(key, json);
    value = json.get<int64_t>();
  }
  static void from_value(const std::string& key, const Json& json, double& value) {
    if (!json.is_number()) wrong_type(key, json);
    value = json.get<double>();
  }
  static void from_value(const std::string& key, const Json& json, ExitCode& value) {
    int64_t code = 0;
    from_value(key, json, code);
    if (code < 0 || code > 255) wrong_type(key, json);
    value = static_cast<ExitCode>(code);
  }
  static void from_value(const std::string& key, const Json& json, ErrorCode& value) {
    const auto code = json.is_string() ? ErrorCode::find(json.get<std::string>()) : std::nullopt;
    if (!code) wrong_type(key, json);
    value = *code;
  }
  static void from_value(const std::string& key, const Json& json, DeviceChoice& value) {
    const auto device = json.is_string() ? find_device(json.get<std::string>()) : std::nullopt;
    if (!device) wrong_type(key, json);
    value = *device;
  }
  template <class T>
  requires std::is_enum_v<T>
  static void from_value(const std::string& key, const Json& json, T& value) {
    for (const auto& [name, item] : names(T{})) {
      // Only configs may use aliases. In the messages between the programs a value has one name.
      if (json == name && name == name_of(names(T{}), item)) {
        value = item;
        return;
      }
    }
    wrong_type(key, json);
  }
  template <class T>
  static void from_value(const std::string& key, const Json& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) from_value(key, json, value.emplace());
  }
  template <class T>
  static void from_value(const std::string& key, const Json& json, std::vector<T>& values) {
    if (!json.is_array()) wrong_type(key, json);
    values.clear();
    for (const Json& item : json) from_value(key, item, values.emplace_back());
  }
  template <class T>
  static void from_value(const std::string& key, const Json& json,
                         std::map<std::string, T>& values) {
    if (!json.is_object()) wrong_type(key, json);
    values.clear();
    for (const auto& [name, item] : json.items()) from_value(name, item, values[name]);
  }
  template <class T>
  requires(std::is_class_v<T>) static void from_value(const std::string& /*key*/, const Json& json,
                                                      T& value) {
    JsonReader reader(json);
    fields(reader, value);
  }

  const Json& object_;
};

}  // namespace encode
