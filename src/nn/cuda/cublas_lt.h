// What the plugin uses of cuBLASLt, as its header cublasLt.h declares it. It is written out here,
// because nvcc comes without the headers of cuBLAS. tests/nn/cuda/cublas_lt_test.cc compares it
// with cublasLt.h if this header is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace encode::cublas_lt {

// The types of C that the functions exchange. Handles, descriptors and layouts are void*.
struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t words[8];
};

struct Heuristic {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  int32_t state;  // cublasStatus_t
  float waves;
  int32_t reserved[4];
};

enum Status : int32_t {  // cublasStatus_t
  kSuccess = 0,
  kNotSupported = 15,
};

enum DataType : int32_t {  // cudaDataType_t
  kFloat32 = 0,
  kFloat16 = 2,
  kBFloat16 = 14,
};

enum Compute : int32_t {  // cublasComputeType_t
  kComputeFloat32 = 68,
  kComputeTf32 = 77,
};

enum Operation : int32_t {  // cublasOperation_t
  kTranspose = 1,
};

enum Epilogue : uint32_t {  // cublasLtEpilogue_t
  kEpilogueDefault = 1,
  kEpilogueRelu = 2,
  kEpilogueBias = 4,
  kEpilogueGelu = 32,  // the tanh form
};

enum ProductAttribute : int32_t {  // cublasLtMatmulDescAttributes_t
  kTransposeA = 3,
  kEpilogue = 7,
  kBiasPointer = 8,
  kScaleOfA = 17,
  kScaleModeOfA = 31,
};

enum PreferenceAttribute : int32_t {  // cublasLtMatmulPreferenceAttributes_t
  kWorkspaceBytes = 1,
  kReductionSchemes = 3,
  kAlignmentOfA = 5,
  kAlignmentOfB = 6,
  kAlignmentOfC = 7,
  kAlignmentOfD = 8,
};

enum AlgorithmAttribute : int32_t {  // cublasLtMatmulAlgoConfigAttributes_t
  kSplits = 2,                       // int32_t
  kReductionScheme = 3,              // uint32_t
};

inline constexpr uint32_t kNoReduction = 0;  // CUBLASLT_REDUCTION_SCHEME_NONE

}  // namespace encode::cublas_lt
