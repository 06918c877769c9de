// cuBLASLt: it takes a product and writes its shape, its types and its epilogue down. blas.cc says
// why the declarations are written out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "record.h"

namespace {

constexpr int kSuccess = 0;

struct Description {
  int32_t transpose_a = 0;
  uint32_t epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT
  int32_t scale_mode = 0;
  bool scaled = false;
};

struct Layout {
  int type;
  uint64_t rows;
  uint64_t columns;
};

// The attributes of a product that the record names: cublasLtMatmulDescAttributes_t.
enum Attribute : int {
  kTransposeA = 3,
  kEpilogue = 7,
  kScaleOfA = 17,
  kScaleModeOfA = 31,
};

// The head of cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

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

int cublasLtMatmulAlgoGetHeuristic(void* /*handle*/, void* /*description*/, void* /*a*/,
                                   void* /*b*/, void* /*c*/, void* /*d*/, void* /*preference*/,
                                   int /*requested*/, Heuristic* results, int* count) {
  *results = {};
  *count = 1;
  return kSuccess;
}

int cublasLtMatmul(void* /*handle*/, void* description, const void* /*alpha*/, const void* /*a*/,
                   void* a_layout, const void* /*b*/, void* /*b_layout*/, const void* /*beta*/,
                   const void* /*c*/, void* /*c_layout*/, void* /*d*/, void* d_layout,
                   const void* /*algorithm*/, void* /*workspace*/, size_t /*workspace_bytes*/,
                   void* /*stream*/) {
  const auto* const product = static_cast<const Description*>(description);
  const auto* const a = static_cast<const Layout*>(a_layout);
  const auto* const d = static_cast<const Layout*>(d_layout);
  const uint64_t inner = product->transpose_a != 0 ? a->rows : a->columns;
  runtime_stand_in::record(
      fmt::format("product cublasLtMatmul m {} n {} k {} types {} {} epilogue {} scale {} {}",
                  d->rows, d->columns, inner, a->type, d->type, product->epilogue,
                  product->scaled ? 1 : 0, product->scale_mode));
  return kSuccess;
}

}  // extern "C"
