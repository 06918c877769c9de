// Functions that make the values and the value types in the table of keys. The functions do not
// throw Error.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/output_types.h"
#include "base/pooling_modes.h"
#include "config/value.h"

namespace encode {

// parse_value() has checked the type of a value. If the value has another type, which is a defect
// of the table of keys, these functions throw std::bad_variant_access. text() refers into `value`.
inline bool boolean(const Value& value) { return std::get<bool>(value); }
inline int64_t integer(const Value& value) { return std::get<int64_t>(value); }
inline bool is_auto(const Value& value) { return std::holds_alternative<std::string>(value); }
inline int64_t integer_or_auto(const Value& value, int64_t number_for_auto) {
  return is_auto(value) ? number_for_auto : integer(value);
}
inline const std::string& text(const Value& value) { return std::get<std::string>(value); }

// Returns nullopt for null. Throws std::bad_variant_access for another type than T.
template <typename T>
std::optional<T> optional(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  return std::get<T>(value);
}

// These functions spell a default of the structs of encode/config.h as KeySpec::default_text.
inline std::string default_of(bool value) { return value ? "true" : "false"; }
inline std::string default_of(int64_t value) { return fmt::to_string(value); }
template <typename Enum, size_t kCount>
std::string default_of(const NameTable<Enum, kCount>& names, Enum value) {
  return std::string(name_of(names, value));
}

// The size of a text is in [min_bytes, ValueSpec::max] bytes. All ranges include both ends.
inline ValueSpec text_of(int64_t min_bytes) { return {.type = ValueType::kText, .min = min_bytes}; }
inline ValueSpec paths_of(int64_t min_bytes) {
  return {.type = ValueType::kPaths, .min = min_bytes};
}
inline ValueSpec integer_of(int64_t min, int64_t max) {
  return {.type = ValueType::kInteger, .min = min, .max = max};
}
inline ValueSpec integer_or_auto_of(int64_t min, int64_t max) {
  return {.type = ValueType::kInteger, .min = min, .max = max, .choices = {"auto"}};
}
inline ValueSpec size_of_bytes(int64_t min, int64_t max) {
  return {.type = ValueType::kSize, .min = min, .max = max};
}
inline ValueSpec boolean_value() { return {.type = ValueType::kBoolean}; }
inline ValueSpec choice_of(std::vector<std::string> choices) {
  return {.type = ValueType::kChoice, .choices = std::move(choices)};
}
inline ValueSpec or_null(ValueSpec spec) {
  spec.nullable = true;
  return spec;
}

inline ValueSpec pooling_value() {
  ValueSpec spec = or_null(choice_of(names_of(kPoolingModes)));
  for (const auto& [name, mode] : kPoolingModes) {
    const PoolingFacts facts = facts_of(mode);
    for (const std::string_view synonym : facts.synonyms) {
      if (!synonym.empty()) spec.synonyms.emplace(synonym, facts.name);
    }
  }
  return spec;
}

// The word that stands for every CUDA device in place of a list of devices.
inline constexpr const char* kAllDevices = "all";
// Matches the names that find_device() accepts, apart from "auto".
inline constexpr const char* kDevicePattern = "cpu|cuda(:(0|[1-9][0-9]?))?";
static_assert(kMostDeviceNumber == 99);

inline ValueSpec device_value() {
  return {.type = ValueType::kText,
          .min = 1,
          .max = 16,
          .choices = {"auto", "cpu", "cuda"},
          .synonyms = {{"gpu", "cuda"}},
          .pattern = fmt::format("^(auto|{})$", kDevicePattern),
          .pattern_words =
              fmt::format("auto, cpu, cuda or cuda:N with N from 0 to {}", kMostDeviceNumber)};
}

inline ValueSpec devices_value() {
  return {.type = ValueType::kNames,
          .min = 0,
          .max = 64,
          .pattern = fmt::format("^({}|{})$", kAllDevices, kDevicePattern),
          .pattern_words = "a list of devices, as in [cuda:0, cuda:1], or all",
          .example = "[cuda:0, cuda:1]",
          .repeats = true,
          .lone = true};
}

inline ValueSpec columns_value() {
  return {.type = ValueType::kNames,
          .min = 0,
          .max = 64,
          .pattern = "^[^,\\[\\]]+$",
          .pattern_words = "a list of column names, as in [row, text]",
          .example = "[row, text]",
          .lone = true};
}

// The pattern also matches "bfloat16", so that parse_output_type() can refuse it with a better
// message.
inline ValueSpec output_type_value() {
  const std::vector<std::string> names = names_of(kOutputTypes);
  return {.type = ValueType::kText,
          .min = 1,
          .max = 16,
          .choices = names,
          .pattern = fmt::format("^({}|bfloat16)$", fmt::join(names, "|")),
          .pattern_words = output_types_in_words()};
}

inline ValueSpec prompt_value() {
  return or_null({.type = ValueType::kText, .min = 0, .max = 1 << 16});
}
inline ValueSpec max_length_value() { return or_null(integer_of(1, 1 << 20)); }

}  // namespace encode
