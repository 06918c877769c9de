// The names of the config's enumerations, as users write them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/config.h"

namespace encode {

template <typename Enum, size_t kCount>
using NameTable = std::array<std::pair<std::string_view, Enum>, kCount>;

inline constexpr NameTable<TextFormat, 5> kTextFormats = {{{"auto", TextFormat::kAuto},
                                                           {"lines", TextFormat::kLines},
                                                           {"jsonl", TextFormat::kJsonl},
                                                           {"csv", TextFormat::kCsv},
                                                           {"tsv", TextFormat::kTsv}}};
inline constexpr NameTable<BadRowPolicy, 2> kBadRowPolicies = {
    {{"error", BadRowPolicy::kError}, {"reject", BadRowPolicy::kReject}}};
inline constexpr NameTable<EmptyRowPolicy, 3> kEmptyRowPolicies = {
    {{"keep", EmptyRowPolicy::kKeep},
     {"reject", EmptyRowPolicy::kReject},
     {"error", EmptyRowPolicy::kError}}};
inline constexpr NameTable<Utf8Policy, 2> kUtf8Policies = {
    {{"replace", Utf8Policy::kReplace}, {"error", Utf8Policy::kError}}};

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.emplace_back(name);
  return names;
}

// `name` is one of names_of(table): the value was checked against them.
template <typename Enum, size_t kCount>
Enum value_of(const NameTable<Enum, kCount>& table, std::string_view name) {
  Enum found = table[0].second;
  for (const auto& [candidate, value] : table) {
    if (candidate == name) found = value;
  }
  return found;
}

template <typename Enum, size_t kCount>
std::string name_of(const NameTable<Enum, kCount>& table, Enum value) {
  for (const auto& [name, candidate] : table) {
    if (candidate == value) return std::string(name);
  }
  return "";
}

}  // namespace encode
