// The pooling modes: their names, and how a model directory states them. A mode that is missing in
// facts_of() does not compile. nn/layers/pooling.cc and nn/cuda/pooling.cu compute them. Any thread
// may call these functions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "encode/pooling_mode.h"

#include "base/names.h"

namespace encode {

struct PoolingFacts {
  std::string_view name = "";   // in a config, and in "pooling_mode" of a model directory
  std::string_view alias = "";  // is also valid there; "": none
  std::array<std::string_view, 3> synonyms = {};  // words of other libraries, for hints
  // The older form of a model directory has a switch for each mode, named `switch_name`. It puts
  // the vectors of several modes side by side, in the order of `place`, which begins at 1. 0: no
  // directory can state the mode.
  std::string_view switch_name = "";
  int place = 0;
  // True: the mode reads one token of each sequence, so the last layer may leave out the others.
  bool one_token = false;
};

constexpr PoolingFacts facts_of(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kCls:
      return {.name = "cls",
              .synonyms = {"first", "first_token", "bos"},
              .switch_name = "pooling_mode_cls_token",
              .place = 1,
              .one_token = true};
    case PoolingMode::kMean:
      return {.name = "mean",
              .synonyms = {"avg", "average", "mean_pooling"},
              .switch_name = "pooling_mode_mean_tokens",
              .place = 3};
    case PoolingMode::kMax:
      return {.name = "max",
              .synonyms = {"maximum"},
              .switch_name = "pooling_mode_max_tokens",
              .place = 2};
    case PoolingMode::kLastToken:
      return {.name = "lasttoken",
              .alias = "last",
              .synonyms = {"eos", "last_token"},
              .switch_name = "pooling_mode_lasttoken",
              .place = 6,
              .one_token = true};
    case PoolingMode::kWeightedMean:
      return {.name = "weightedmean",
              .synonyms = {"weighted"},
              .switch_name = "pooling_mode_weightedmean_tokens",
              .place = 5};
    case PoolingMode::kMeanSqrtLen:
      return {.name = "mean_sqrt_len_tokens",
              .alias = "mean_sqrt_len",
              .switch_name = "pooling_mode_mean_sqrt_len_tokens",
              .place = 4};
    case PoolingMode::kNone:
      return {.name = "none"};
  }
  return {};
}

constexpr size_t count_poolings(bool (*wanted)(const PoolingFacts&)) {
  size_t count = 0;
  for (size_t i = 0; i < count_of_enumerators<PoolingMode>(); ++i)
    count += wanted(facts_of(static_cast<PoolingMode>(i))) ? 1 : 0;
  return count;
}

// The names in the order of the enumerators, and then the other names.
inline constexpr auto kPoolingModes = [] {
  constexpr size_t kModes = count_of_enumerators<PoolingMode>();
  constexpr size_t kAliases =
      count_poolings([](const PoolingFacts& facts) { return !facts.alias.empty(); });
  NameTable<PoolingMode, kModes + kAliases> names = {};
  size_t next = kModes;
  for (size_t i = 0; i < kModes; ++i) {
    const auto mode = static_cast<PoolingMode>(i);
    names[i] = {facts_of(mode).name, mode};
    if (!facts_of(mode).alias.empty()) names.at(next++) = {facts_of(mode).alias, mode};
  }
  return names;
}();

// The modes that a model directory can state, in the order of their places.
inline constexpr auto kDirectoryPoolings = [] {
  std::array<PoolingMode, count_poolings([](const PoolingFacts& facts) { return facts.place > 0; })>
      modes = {};
  for (const auto& [name, mode] : kPoolingModes) {
    const int place = facts_of(mode).place;
    if (place > 0) modes.at(static_cast<size_t>(place) - 1) = mode;
  }
  return modes;
}();

}  // namespace encode
