// Writes structs as JSON objects and reads them back, from one list of the members of each struct:
//
//   ENCODE_FIELDS(RowRange, begin, end)
//
// The list must name every member, in the order of the struct: a new member does not compile until
// it is listed. For an enumeration there must be a function names(Enum) that returns its NameTable.
// A vector becomes an array, and so do ScannedFiles; if there are functions packed() and unpack()
// for a vector, it becomes a string.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "encode/device.h"
#include "encode/error.h"
#include "encode/scanned_files.h"

#include "base/json.h"
#include "base/names.h"
#include "protocol/protocol_refusal.h"

namespace encode {

// True if T is S or const S: the writer passes a const object to fields(), and the reader a mutable
// object.
template <class T, class S>
concept MaybeConst = std::same_as<std::remove_const_t<T>, S>;

// Calls archive(name, member) for each member. `names` has the names of the members: "begin, end".
template <class... Members>
void visit_fields(auto& archive, std::string_view names, Members&... members) {
  const auto take_name = [&names] {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + std::string_view(", ").size()));
    return name;
  };
  (archive(take_name(), members), ...);
}

// Defines fields(archive, value), which JsonWriter, JsonReader and SchemaWriter call. A macro,
// because nothing else in C++20 knows the name of a member.
#define ENCODE_FIELDS(Struct, ...)                             \
  void fields(auto& archive, MaybeConst<Struct> auto& value) { \
    auto& [__VA_ARGS__] = value;                               \
    visit_fields(archive, #__VA_ARGS__, __VA_ARGS__);          \
  }

// Writes a struct as a JSON object. Not thread-safe.
class JsonWriter {
 public:
  template <class T>
  void operator()(const std::string& key, const T& value) {
    object_[key] = to_value(value);
  }

  // A number that is not finite becomes null. Throws Error kInternal "internal" for an enumerator
  // without a name.
  template <class T>
  static Json to_value(const T& value) {
    if constexpr (std::same_as<T, ExitCode>) {
      return static_cast<int>(value);
    } else if constexpr (std::is_enum_v<T>) {
      const std::string_view name = name_of(names(value), value);
      if (name.empty()) refuse_unchecked_name(fmt::to_string(static_cast<int>(value)));
      return name;
    } else if constexpr (std::same_as<T, ErrorCode>) {
      return value.name();
    } else if constexpr (std::same_as<T, DeviceChoice>) {
      return to_string(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else if constexpr (std::same_as<T, ScannedFiles>) {
      Json array = Json::array();
      for (const typename T::value_type& file : value) array.push_back(to_value(file));
      return array;
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
    if constexpr (requires { packed(values); }) {
      return packed(values);
    } else {
      Json array = Json::array();
      for (const T& value : values) array.push_back(to_value(value));
      return array;
    }
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

// Reads a struct from a JSON object, which must outlive the reader. Throws Error kConfig
// "job.protocol" for a field that is missing or has the wrong type. Ignores fields that the struct
// does not have. Not thread-safe.
class JsonReader {
 public:
  explicit JsonReader(const Json& object) : object_(object) {
    if (!object.is_object()) refuse_document("the value is not a JSON object", object.type_name());
  }

  template <class T>
  void operator()(const std::string& key, T& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse_document("a field is missing", key);
    from_value(key, *found, value);
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
    if (!json.is_number() && !json.is_null()) wrong_type(key, json);
    value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
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
    if constexpr (requires { unpack("", values); }) {
      if (!json.is_string() || !unpack(json.get_ref<const std::string&>(), values))
        wrong_type(key, json);
    } else {
      if (!json.is_array()) wrong_type(key, json);
      values.clear();
      for (const Json& item : json) from_value(key, item, values.emplace_back());
    }
  }
  template <class T>
  static void from_value(const std::string& key, const Json& json,
                         std::map<std::string, T>& values) {
    if (!json.is_object()) wrong_type(key, json);
    values.clear();
    for (const auto& [name, item] : json.items()) from_value(name, item, values[name]);
  }
  template <class T>
  requires(std::is_class_v<T>) static void from_value(const std::string& key, const Json& json,
                                                      T& value) {
    if constexpr (std::same_as<T, ScannedFiles>) {
      std::vector<typename T::value_type> files;
      from_value(key, json, files);
      value.clear();
      for (const auto& file : files) value.push_back(file);
    } else {
      JsonReader reader(json);
      fields(reader, value);
    }
  }

  const Json& object_;
};

// Writes the schema of a struct: the name and the type of each field, at every depth. Structs with
// the same schema have the same JSON. Not thread-safe.
class SchemaWriter {
 public:
  template <class T>
  void operator()(const std::string& key, const T& value) {
    text_ += fmt::format("{}:{},", key, schema(value));
  }

  template <class T>
  static std::string schema(const T& value) {
    if constexpr (std::same_as<T, ErrorCode>) {
      return fmt::format("code|{}", fmt::join(kErrorCodes, "|"));
    } else if constexpr (std::is_enum_v<T> && !std::same_as<T, ExitCode>) {
      return fmt::format("enum|{}", fmt::join(names_of(names(value)), "|"));
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string> ||
                         std::same_as<T, ExitCode> || std::same_as<T, DeviceChoice>) {
      return std::is_floating_point_v<T> ? "real" : JsonWriter::to_value(value).type_name();
    } else if constexpr (std::same_as<T, ScannedFiles>) {
      return schema(std::vector<typename T::value_type>());
    } else {
      SchemaWriter writer;
      fields(writer, value);
      return "{" + writer.text_ + "}";
    }
  }
  template <class T>
  static std::string schema(const std::optional<T>& /*value*/) {
    return schema(T{}) + "?";
  }
  template <class T>
  static std::string schema(const std::vector<T>& values) {
    if constexpr (requires { packed(values); }) {
      return "packed";
    } else {
      return "[" + schema(T{}) + "]";
    }
  }
  template <class T>
  static std::string schema(const std::map<std::string, T>& /*value*/) {
    return "map " + schema(T{});
  }

 private:
  std::string text_;
};

}  // namespace encode
