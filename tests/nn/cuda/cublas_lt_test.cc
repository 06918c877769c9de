// Compares the declarations of nn/cuda/cublas_lt.h with NVIDIA's header, if it is installed. nvcc
// alone comes without it.
#include "nn/cuda/cublas_lt.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace encode::cublas_lt {
namespace {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(same(kSuccess, CUBLAS_STATUS_SUCCESS));
static_assert(same(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(kFloat32, CUDA_R_32F) && same(kFloat16, CUDA_R_16F));
static_assert(same(kBFloat16, CUDA_R_16BF));
static_assert(same(kComputeFloat32, CUBLAS_COMPUTE_32F));
static_assert(same(kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(kTranspose, CUBLAS_OP_T));
static_assert(same(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same(kEpilogueRelu, CUBLASLT_EPILOGUE_RELU));
static_assert(same(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same(kEpilogueGelu, CUBLASLT_EPILOGUE_GELU));
static_assert(same(kEpilogueRelu | kEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(kEpilogueGelu | kEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(same(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(kScaleOfA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER));
static_assert(same(kScaleModeOfA, CUBLASLT_MATMUL_DESC_A_SCALE_MODE));
static_assert(same(kWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
static_assert(same(kAlignmentOfA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(same(kAlignmentOfB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(same(kAlignmentOfC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(same(kAlignmentOfD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(same(kSplits, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
static_assert(same(kReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
static_assert(same(kNoReduction, CUBLASLT_REDUCTION_SCHEME_NONE));

TEST(CublasLt, IsDeclaredAsInNvidiasHeader) { SUCCEED() << "the compiler has compared them"; }

}  // namespace
}  // namespace encode::cublas_lt
#else
TEST(CublasLt, IsDeclaredAsInNvidiasHeader) { GTEST_SKIP() << "cublasLt.h is not installed"; }
#endif
