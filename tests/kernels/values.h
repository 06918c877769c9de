// Numbers for the tests of the kernels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"

namespace encode::kernels {

inline std::mt19937& generator() {
  static std::mt19937 of_all;
  return of_all;
}
// Restarts the random numbers, so that the numbers of a test do not depend on the tests before it.
inline void restart_values() { generator().seed(11); }

inline std::vector<float> random_values(int64_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = normal(generator());
  return values;
}

// Converts numbers to T and back, with the kernels.
template <typename T>
std::vector<T> stored(const std::vector<float>& values) {
  std::vector<T> to(values.size());
  kernels().rows<T>().scale(values.data(), static_cast<int64_t>(values.size()), 1, to.data());
  return to;
}

template <typename T>
std::vector<float> widened(const std::vector<T>& values) {
  std::vector<float> to(values.size());
  kernels().rows<T>().widen(values.data(), static_cast<int64_t>(values.size()), to.data());
  return to;
}

}  // namespace encode::kernels
