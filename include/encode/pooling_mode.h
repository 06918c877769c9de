// Constants: how the vectors of the tokens of a row become one vector. nvcc also compiles this
// header, as C++17.
#pragma once

#include <cstdint>

namespace encode {

// The pooling modes of sentence-transformers. kNone keeps the vector of every token, for late
// interaction (Khattab and Zaharia 2020), and cannot be combined with another mode.
// base/pooling_modes.h has their names.
enum class PoolingMode : int32_t {
  kCls,
  kMean,
  kMax,
  kLastToken,
  kWeightedMean,
  kMeanSqrtLen,
  kNone,
};

}  // namespace encode
