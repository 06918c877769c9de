// The bytes that a kernel of the plugin reads and writes in device memory. Weights of norms and
// other small vectors are left out.
#pragma once

#include <cstdint>

#include "nn/cuda/plugin.h"

namespace encode::testing {

inline int64_t size_of(EncodeCudaType type) { return type == kEncodeCudaFloat32 ? 4 : 2; }

inline int64_t traffic(const EncodeCudaNorm& a) {
  const int64_t passes =
      1 + (a.residual != nullptr ? 1 : 0) + (a.sum != nullptr ? 1 : 0) + (a.y != nullptr ? 1 : 0);
  return a.rows * a.width * (passes * size_of(a.type) + (a.fp8.values != nullptr ? 1 : 0));
}

inline int64_t traffic(const EncodeCudaRotary& a) {
  return a.tokens * a.head_dim * (2 * a.heads * size_of(a.type) + 4);
}

inline int64_t traffic(const EncodeCudaElementwise& a, bool gated) {
  const int64_t in = (gated ? 2 : 1) * size_of(a.type);
  return a.rows * a.width * (in + (a.fp8.values != nullptr ? 1 : size_of(a.type)));
}

inline int64_t traffic(const EncodeCudaEmbedding& a) {
  return a.tokens * a.width * size_of(a.type) * (a.positions != nullptr ? 3 : 2);
}

inline int64_t traffic(const EncodeCudaPool& a) {
  return a.cu_seqlens[a.sequences] * a.width * size_of(a.type) + a.sequences * a.width * 4;
}

inline int64_t traffic(const EncodeCudaQuantize& a) {
  return a.rows * a.width * (size_of(a.type) + 1);
}

inline int64_t traffic(const EncodeCudaAttention& a) {
  const int64_t tables = (a.of_query != nullptr ? 1 : 0) + (a.of_key != nullptr ? 1 : 0);
  return a.cu_seqlens[a.sequences] * size_of(a.type) *
         (2 * (a.heads + a.key_heads) * a.head_dim + tables * a.heads * a.columns);
}

}  // namespace encode::testing
