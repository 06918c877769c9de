// cuBLASLt: it takes a product and writes its shape, its types, its epilogue and its algorithm
// down. blas.cc says why the declarations are written out.
//
// LibTorch asks for one algorithm and gets number 0. Whoever asks for more gets the numbers 1 to 6.
// Number 1 splits its sums, 2 needs more workspace than there is, and 3 does not run, although no
// caller asks for such algorithms; the others are good.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "nn/cuda/cublas_lt.h"
#include "record.h"

namespace {

using namespace encode::cublas_lt;  // NOLINT(google-build-using-namespace): this file is cuBLASLt

struct Description {
  int32_t transpose_a = 0;
  uint32_t epilogue = kEpilogueDefault;
  int32_t scale_mode = 0;
  bool scaled = false;
};

struct Layout {
  int type;
  uint64_t rows;
  uint64_t columns;
};

// The numbers of the bad algorithms.
constexpr uint64_t kSplitting = 1;
constexpr uint64_t kGreedy = 2;
constexpr uint64_t kBroken = 3;
constexpr size_t kTooManyBytes = size_t{1} << 30;

template <typename T>
T read(const void* value) {
  T out;
  std::memcpy(&out, value, sizeof out);
  return out;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130100; }

int cublasLtMatmulDescCreate(void** out, int /*compute*/, int /*scale_type*/) {
  *out = new Description;
  return kSuccess;
}
int cublasLtMatmulDescDestroy(void* description) {
  delete static_cast<Description*>(description);
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value,
                                   size_t /*bytes*/) {
  auto* const known = static_cast<Description*>(description);
  if (attribute == kTransposeA) known->transpose_a = read<int32_t>(value);
  if (attribute == kEpilogue) known->epilogue = read<uint32_t>(value);
  if (attribute == kScaleOfA) known->scaled = true;
  if (attribute == kScaleModeOfA) known->scale_mode = read<int32_t>(value);
  return kSuccess;
}

int cublasLtMatrixLayoutCreate(void** out, int type, uint64_t rows, uint64_t columns,
                               int64_t /*leading*/) {
  *out = new Layout{type, rows, columns};
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void* /*layout*/, int /*attribute*/, const void* /*value*/,
                                     size_t /*bytes*/) {
  return kSuccess;
}

int cublasLtMatmulPreferenceCreate(void** out) {
  *out = std::malloc(1);
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  std::free(preference);
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void* /*preference*/, int /*attribute*/,
                                         const void* /*value*/, size_t /*bytes*/) {
  return kSuccess;
}

int cublasLtCreate(void** handle) {
  *handle = std::malloc(1);
  return kSuccess;
}

int cublasLtMatmulAlgoGetHeuristic(void* /*handle*/, void* /*description*/, void* /*a*/,
                                   void* /*b*/, void* /*c*/, void* /*d*/, void* /*preference*/,
                                   int requested, Heuristic* results, int* count) {
  *count = std::min(requested, 6);
  for (int i = 0; i < *count; ++i) {
    results[i] = {};
    results[i].algorithm.words[0] = static_cast<uint64_t>(requested == 1 ? 0 : i + 1);
    results[i].workspace_bytes = results[i].algorithm.words[0] == kGreedy ? kTooManyBytes : 0;
    results[i].state = results[i].algorithm.words[0] == kBroken ? kNotSupported : kSuccess;
  }
  return kSuccess;
}

int cublasLtMatmulAlgoCheck(void* /*handle*/, void* /*description*/, void* /*a*/, void* /*b*/,
                            void* /*c*/, void* /*d*/, const Algorithm* algorithm,
                            Heuristic* result) {
  *result = {};
  result->workspace_bytes = algorithm->words[0] == kGreedy ? kTooManyBytes : 0;
  return algorithm->words[0] == kBroken ? kNotSupported : kSuccess;
}

int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value,
                                         size_t /*bytes*/, size_t* written) {
  const int32_t splits = algorithm->words[0] == kSplitting ? 4 : 1;
  const int32_t answer = attribute == kSplits ? splits : 0;
  std::memcpy(value, &answer, sizeof answer);
  *written = sizeof answer;
  return kSuccess;
}

int cublasLtMatmul(void* /*handle*/, void* description, const void* /*alpha*/, const void* /*a*/,
                   void* a_layout, const void* /*b*/, void* /*b_layout*/, const void* beta,
                   const void* /*c*/, void* /*c_layout*/, void* /*d*/, void* d_layout,
                   const Algorithm* algorithm, void* /*workspace*/, size_t /*workspace_bytes*/,
                   void* /*stream*/) {
  const auto* const product = static_cast<const Description*>(description);
  const auto* const a = static_cast<const Layout*>(a_layout);
  const auto* const d = static_cast<const Layout*>(d_layout);
  const uint64_t inner = product->transpose_a != 0 ? a->rows : a->columns;
  runtime_stand_in::record(fmt::format(
      "product cublasLtMatmul m {} n {} k {} types {} {} epilogue {} scale {} {} beta {} "
      "algorithm {}",
      d->rows, d->columns, inner, a->type, d->type, product->epilogue, product->scaled ? 1 : 0,
      product->scale_mode, read<float>(beta), algorithm->words[0]));
  return kSuccess;
}

}  // extern "C"
