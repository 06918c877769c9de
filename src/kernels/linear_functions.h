// The functions of each kernel. packed_product.cc calls them, and packed_product.h states their
// contracts.
#pragma once

#include "kernels/packed_product.h"

namespace encode::kernels {

template <typename T>
struct LinearFunctions {
  void (*pack)(const T* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
  void (*linear)(const PackedWeight& weight, const Linear<T>& call, std::byte* scratch);
  int64_t (*packed_bytes)(const PackedWeight& weight);
  int64_t (*scratch_bytes)(const PackedWeight& weight);
};

// The kernels on vector registers (Kernels::linears). The functions of a kernel are null if the
// instruction set does not have the kernel. The kernel `int8` needs AVX512_VNNI in addition to
// AVX-512; `int8_pairs` computes the same bits with AVX2 or NEON, and needs twice the time and
// memory.
struct VectorLinears {
  LinearFunctions<float> float32;
  LinearFunctions<float> int8;
  LinearFunctions<float> int8_pairs;
  LinearFunctions<BFloat16> bfloat16;
  LinearFunctions<Float16> float16;
};

// A source that is compiled for an instruction set sees only the kernels of this set. Other sources
// reach them through Kernels::linears.
#ifdef ENCODE_ISA
namespace ENCODE_ISA {
extern const VectorLinears vector_linears;
}
#endif

// The kernels on tiles. digit_linear() handles every number of digits.
namespace amx {
const LinearFunctions<float>& digit_linear();
const LinearFunctions<BFloat16>& bfloat16_linear();
}  // namespace amx

}  // namespace encode::kernels
