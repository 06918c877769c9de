// The names of enumerators. Users write these names in configs, reports print them, and `encode`
// and encode-worker use them in their messages. Any thread may call these functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/config.h"
#include "encode/types.h"

namespace encode {

// Pairs of a name and a value. If a value has several names, the first name is printed.
template <typename Enum, size_t kCount>
using NameTable = std::array<std::pair<std::string_view, Enum>, kCount>;

// Returns how many enumerators an enum has. For the number after the last one, facts_of() returns
// an empty name.
template <typename Enum>
constexpr size_t count_of_enumerators() {
  size_t count = 0;
  while (!facts_of(static_cast<Enum>(count)).name.empty()) ++count;
  return count;
}

// Returns the names that facts_of() states, in the order of the enumerators.
template <typename Enum>
constexpr auto names_from_facts() {
  NameTable<Enum, count_of_enumerators<Enum>()> names = {};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<Enum>(i);
    names[i] = {facts_of(value).name, value};
  }
  return names;
}

inline constexpr NameTable<BadRowPolicy, 2> kBadRowPolicies = {
    {{"error", BadRowPolicy::kError}, {"reject", BadRowPolicy::kReject}}};
inline constexpr NameTable<EmptyRowPolicy, 3> kEmptyRowPolicies = {
    {{"keep", EmptyRowPolicy::kKeep},
     {"reject", EmptyRowPolicy::kReject},
     {"error", EmptyRowPolicy::kError}}};
inline constexpr NameTable<Utf8Policy, 2> kUtf8Policies = {
    {{"replace", Utf8Policy::kReplace}, {"error", Utf8Policy::kError}}};
inline constexpr NameTable<MissingFieldPolicy, 2> kMissingFieldPolicies = {
    {{"error", MissingFieldPolicy::kError}, {"empty", MissingFieldPolicy::kEmpty}}};

inline constexpr NameTable<MatmulPrecision, 2> kMatmulPrecisions = {
    {{"highest", MatmulPrecision::kHighest}, {"high", MatmulPrecision::kHigh}}};
inline constexpr NameTable<ComputeType, 8> kComputeTypes = {{{"float32", ComputeType::kFloat32},
                                                             {"bfloat16", ComputeType::kBFloat16},
                                                             {"float16", ComputeType::kFloat16},
                                                             {"int8", ComputeType::kInt8},
                                                             {"fp8", ComputeType::kFp8},
                                                             {"fp32", ComputeType::kFloat32},
                                                             {"bf16", ComputeType::kBFloat16},
                                                             {"fp16", ComputeType::kFloat16}}};
inline constexpr NameTable<MatrixFormat, 3> kMatrixFormats = {{{"npy", MatrixFormat::kNpy},
                                                               {"parquet", MatrixFormat::kParquet},
                                                               {"arrow", MatrixFormat::kArrow}}};
inline constexpr NameTable<QuarantinePolicy, 3> kQuarantinePolicies = {
    {{"error", QuarantinePolicy::kError},
     {"zeros", QuarantinePolicy::kZeros},
     {"drop", QuarantinePolicy::kDrop}}};

inline constexpr NameTable<OutputParts, 2> kOutputParts = {
    {{"many", OutputParts::kMany}, {"one", OutputParts::kOne}}};

inline constexpr NameTable<VectorPrecision, 2> kVectorPrecisions = {
    {{"float32", VectorPrecision::kFloat32}, {"float16", VectorPrecision::kFloat16}}};
inline constexpr NameTable<SpecialTokensRule, 2> kSpecialTokensRules = {
    {{"by_class", SpecialTokensRule::kByClass},
     {"as_in_tokenizer_json", SpecialTokensRule::kAsInTokenizerJson}}};
inline constexpr NameTable<PaddingPolicy, 3> kPaddingPolicies = {
    {{"none", PaddingPolicy::kNone},
     {"longest", PaddingPolicy::kLongest},
     {"max_length", PaddingPolicy::kMaxLength}}};

inline constexpr NameTable<PassageUnit, 3> kPassageUnits = {{{"sentence", PassageUnit::kSentence},
                                                             {"paragraph", PassageUnit::kParagraph},
                                                             {"token", PassageUnit::kToken}}};
inline constexpr NameTable<PassageVectors, 2> kPassageVectors = {
    {{"alone", PassageVectors::kAlone}, {"late", PassageVectors::kLate}}};
inline constexpr NameTable<RowVector, 2> kRowVectors = {
    {{"none", RowVector::kNone}, {"mean", RowVector::kMean}}};

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.emplace_back(name);
  return names;
}

// Returns the value for `name`, or nullopt if the table does not have the name.
template <typename Enum, size_t kCount>
std::optional<Enum> find_value(const NameTable<Enum, kCount>& table, std::string_view name) {
  for (const auto& [candidate, value] : table) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

// Throws Error kInternal "internal" for a name that the caller should have checked.
[[noreturn]] void refuse_unchecked_name(std::string_view name);

// Returns the value for `name`, which must be one of names_of(table). Throws Error kInternal
// "internal" if it is not.
template <typename Enum, size_t kCount>
Enum value_of(const NameTable<Enum, kCount>& table, std::string_view name) {
  const std::optional<Enum> value = find_value(table, name);
  if (!value) refuse_unchecked_name(name);
  return *value;
}

// Returns the first name of `value`, or "" if the table does not have the value.
template <typename Enum, size_t kCount>
constexpr std::string_view name_of(const NameTable<Enum, kCount>& table, Enum value) {
  for (const auto& [name, candidate] : table) {
    if (candidate == value) return name;
  }
  return "";
}

}  // namespace encode
