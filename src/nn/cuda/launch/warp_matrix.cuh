// Products of small matrices on the tensor cores, by the 32 threads of a warp together. The tests
// have another warp_matrix.cuh (tests/nn/cuda/on_cpu), which computes the same with shuffles.
// Source: "Warp Level Matrix Instructions" in NVIDIA's PTX ISA.
//
// A register holds two neighbouring numbers of a row or column, the first one in its lower half.
// Thread t of the warp has the group g = t / 4 and the place p = t % 4.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace encode::cuda {

// Adds A B to `sum`, which is float32 [16, 8]. A is [16, 16] and B is [16, 8], both of the type T.
//   sum[0], sum[1]   row g, columns 2p and 2p + 1;       sum[2], sum[3]   the same of row g + 8
//   a[0], a[1]       rows g and g + 8, columns 2p, 2p + 1
//   a[2], a[3]       the same rows, columns 2p + 8, 2p + 9
//   b[0], b[1]       column g, rows 2p, 2p + 1, and rows 2p + 8, 2p + 9
// All threads of the warp call it, after has_tensor_cores() (launch.cuh) was true.
template <typename T>
__device__ void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

template <>
__device__ inline void multiply_add<__half>(float (&sum)[4], const uint32_t (&a)[4],
                                            const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

template <>
__device__ inline void multiply_add<__nv_bfloat16>(float (&sum)[4], const uint32_t (&a)[4],
                                                   const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();
#endif
}

// Transposes an [8, 8] matrix of 16-bit numbers. `row` has the columns 2p and 2p + 1 of row g, and
// the result has the rows 2p and 2p + 1 of column g. All threads of the warp call it.
__device__ inline uint32_t transposed(uint32_t row) {
  uint32_t column = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(row));
  return column;
}

}  // namespace encode::cuda
