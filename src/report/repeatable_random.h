// The random numbers of a report.
#pragma once

#include <random>

namespace encode {

// Returns a generator that gives the same numbers in every process, so that two reports of one run
// show the same rows. Any thread may call it.
inline std::mt19937_64 repeatable_random() {
  constexpr std::mt19937_64::result_type kSeed = 20;
  return std::mt19937_64(kSeed);  // NOLINT(bugprone-random-generator-seed): it must be predictable
}

}  // namespace encode
