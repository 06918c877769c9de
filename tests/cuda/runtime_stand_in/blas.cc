// cuBLAS: it takes a product and writes its name, its shape and its types down. The declarations
// are written out here, because nvcc comes without cuBLAS's headers. Handles, enumerations and
// sizes have the types of C that the headers give them.
#include <cstddef>
#include <cstdlib>
#include <fmt/format.h>

#include "record.h"

namespace runtime_stand_in {
namespace {

constexpr int kSuccess = 0;

struct Shape {
  int m;
  int n;
  int k;
};

int product(const char* name, const Shape& shape, int operand_type, int result_type) {
  record(fmt::format("product {} m {} n {} k {} types {} {}", name, shape.m, shape.n, shape.k,
                     operand_type, result_type));
  return kSuccess;
}

constexpr int kFloat32 = 0;  // CUDA_R_32F

int math_mode = 0;
int pointer_mode = 0;

}  // namespace
}  // namespace runtime_stand_in

using runtime_stand_in::kFloat32;
using runtime_stand_in::kSuccess;
using runtime_stand_in::math_mode;
using runtime_stand_in::pointer_mode;
using runtime_stand_in::product;

extern "C" {

int cublasCreate_v2(void** handle) {
  *handle = std::malloc(1);
  return kSuccess;
}
int cublasDestroy_v2(void* handle) {
  std::free(handle);
  return kSuccess;
}
int cublasSetStream_v2(void* /*handle*/, void* /*stream*/) { return kSuccess; }
int cublasSetWorkspace_v2(void* /*handle*/, void* /*workspace*/, size_t /*bytes*/) {
  return kSuccess;
}
int cublasSetMathMode(void* /*handle*/, int mode) {
  math_mode = mode;
  return kSuccess;
}
int cublasGetMathMode(void* /*handle*/, int* mode) {
  *mode = math_mode;
  return kSuccess;
}
int cublasSetPointerMode_v2(void* /*handle*/, int mode) {
  pointer_mode = mode;
  return kSuccess;
}
int cublasGetPointerMode_v2(void* /*handle*/, int* mode) {
  *mode = pointer_mode;
  return kSuccess;
}

int cublasGemmEx(void* /*handle*/, int /*transa*/, int /*transb*/, int m, int n, int k,
                 const void* /*alpha*/, const void* /*a*/, int a_type, int /*lda*/,
                 const void* /*b*/, int /*b_type*/, int /*ldb*/, const void* /*beta*/, void* /*c*/,
                 int c_type, int /*ldc*/, int /*compute*/, int /*algorithm*/) {
  return product("cublasGemmEx", {m, n, k}, a_type, c_type);
}

int cublasGemmStridedBatchedEx(void* /*handle*/, int /*transa*/, int /*transb*/, int m, int n,
                               int k, const void* /*alpha*/, const void* /*a*/, int a_type,
                               int /*lda*/, long long /*stride_a*/, const void* /*b*/,
                               int /*b_type*/, int /*ldb*/, long long /*stride_b*/,
                               const void* /*beta*/, void* /*c*/, int c_type, int /*ldc*/,
                               long long /*stride_c*/, int /*count*/, int /*compute*/,
                               int /*algorithm*/) {
  return product("cublasGemmStridedBatchedEx", {m, n, k}, a_type, c_type);
}

int cublasSgemm_v2(void* /*handle*/, int /*transa*/, int /*transb*/, int m, int n, int k,
                   const float* /*alpha*/, const float* /*a*/, int /*lda*/, const float* /*b*/,
                   int /*ldb*/, const float* /*beta*/, float* /*c*/, int /*ldc*/) {
  return product("cublasSgemm", {m, n, k}, kFloat32, kFloat32);
}

int cublasSgemmStridedBatched(void* /*handle*/, int /*transa*/, int /*transb*/, int m, int n, int k,
                              const float* /*alpha*/, const float* /*a*/, int /*lda*/,
                              long long /*stride_a*/, const float* /*b*/, int /*ldb*/,
                              long long /*stride_b*/, const float* /*beta*/, float* /*c*/,
                              int /*ldc*/, long long /*stride_c*/, int /*count*/) {
  return product("cublasSgemmStridedBatched", {m, n, k}, kFloat32, kFloat32);
}

}  // extern "C"
