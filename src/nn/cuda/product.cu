// Matrix products by cuBLASLt with a given algorithm. There is no kernel here: cuBLASLt has them.
//
// A row-major matrix [n, m] is a column-major matrix [m, n] to cuBLASLt. The product y = x w^T,
// with x [rows, in] and w [out, in], is therefore D = A^T B with A = w [in, out], B = x [in, rows]
// and D = y [out, rows]. The residual is the matrix C, which is added before the activation.
#include <cstdint>
#include <dlfcn.h>
#include <initializer_list>
#include <type_traits>

#include <cuda_runtime_api.h>

#include "cublas_lt.h"
#include "plugin.h"

namespace encode::cuda {
namespace {

namespace lt = cublas_lt;

// The functions of cuBLASLt. All except `version` return a cublasStatus_t.
struct Library {
  size_t (*version)();
  int (*create)(void** handle);
  int (*create_product)(void** product, int compute, int scale_type);
  int (*destroy_product)(void* product);
  int (*set_product)(void* product, int attribute, const void* value, size_t bytes);
  int (*create_layout)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*destroy_layout)(void* layout);
  int (*create_preference)(void** preference);
  int (*destroy_preference)(void* preference);
  int (*set_preference)(void* preference, int attribute, const void* value, size_t bytes);
  int (*suggest)(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference,
                 int most, lt::Heuristic* results, int* count);
  int (*check)(void* handle, void* product, void* a, void* b, void* c, void* d,
               const lt::Algorithm* algorithm, lt::Heuristic* result);
  int (*get)(const lt::Algorithm* algorithm, int attribute, void* value, size_t bytes,
             size_t* written);
  int (*multiply)(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                  const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                  void* d, void* d_layout, const lt::Algorithm* algorithm, void* workspace,
                  size_t workspace_bytes, cudaStream_t stream);
  bool complete = true;
  void* handle = nullptr;  // cublasLtHandle_t; any number of threads may use it
};

// Opens the library that the process has opened before, and no other one: the algorithms and the
// products of LibTorch must come from the same version.
Library open_library() {
  Library library = {};
  void* const opened = ::dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        opened != nullptr ? ::dlsym(opened, name) : nullptr);
    library.complete = library.complete && function != nullptr;
  };
  find(library.version, "cublasLtGetVersion");
  find(library.create, "cublasLtCreate");
  find(library.create_product, "cublasLtMatmulDescCreate");
  find(library.destroy_product, "cublasLtMatmulDescDestroy");
  find(library.set_product, "cublasLtMatmulDescSetAttribute");
  find(library.create_layout, "cublasLtMatrixLayoutCreate");
  find(library.destroy_layout, "cublasLtMatrixLayoutDestroy");
  find(library.create_preference, "cublasLtMatmulPreferenceCreate");
  find(library.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(library.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(library.suggest, "cublasLtMatmulAlgoGetHeuristic");
  find(library.check, "cublasLtMatmulAlgoCheck");
  find(library.get, "cublasLtMatmulAlgoConfigGetAttribute");
  find(library.multiply, "cublasLtMatmul");
  library.complete = library.complete && library.create(&library.handle) == lt::kSuccess;
  return library;
}

const Library& library() {
  static const Library opened = open_library();
  return opened;
}

lt::DataType data_type(EncodeCudaType type) {
  if (type == kEncodeCudaFloat16) return lt::kFloat16;
  return type == kEncodeCudaBFloat16 ? lt::kBFloat16 : lt::kFloat32;
}

uint32_t epilogue_of(const EncodeCudaProduct& args) {
  uint32_t activation = 0;
  if (args.activation == kEncodeCudaProductRelu) activation = lt::kEpilogueRelu;
  if (args.activation == kEncodeCudaProductGeluTanh) activation = lt::kEpilogueGelu;
  const uint32_t bias = args.bias != nullptr ? uint32_t{lt::kEpilogueBias} : 0U;
  const uint32_t epilogue = activation | bias;
  return epilogue != 0 ? epilogue : uint32_t{lt::kEpilogueDefault};
}

// The descriptions that cuBLASLt needs of a product.
class Product {
 public:
  explicit Product(const EncodeCudaProduct& args) {
    const lt::DataType type = data_type(args.type);
    take(library().create_product(
        &product_, args.tf32 != 0 ? lt::kComputeTf32 : lt::kComputeFloat32, lt::kFloat32));
    set(lt::kTransposeA, static_cast<int32_t>(lt::kTranspose));
    set(lt::kEpilogue, epilogue_of(args));
    if (args.bias != nullptr) set(lt::kBiasPointer, args.bias);
    take(layout(&a_, type, args.in_features, args.out_features));
    take(layout(&b_, type, args.in_features, args.rows));
    take(layout(&d_, type, args.out_features, args.rows));
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    if (product_ != nullptr) library().destroy_product(product_);
    for (void* each : {a_, b_, d_}) {
      if (each != nullptr) library().destroy_layout(each);
    }
  }

  int status() const { return status_; }  // of the constructor

  int suggest(void* preference, lt::Heuristic* results, int most, int* count) const {
    return library().suggest(library().handle, product_, a_, b_, d_, d_, preference, most, results,
                             count);
  }
  int check(const lt::Algorithm& algorithm, lt::Heuristic* result) const {
    return library().check(library().handle, product_, a_, b_, d_, d_, &algorithm, result);
  }
  int multiply(const EncodeCudaProduct& args, const lt::Algorithm& algorithm) const {
    const float alpha = 1;
    const float beta = args.residual != nullptr ? 1 : 0;
    const void* const c = args.residual != nullptr ? args.residual : args.y;
    return library().multiply(library().handle, product_, &alpha, args.w, a_, args.x, b_, &beta, c,
                              d_, args.y, d_, &algorithm, args.workspace,
                              static_cast<size_t>(args.workspace_bytes),
                              static_cast<cudaStream_t>(args.stream));
  }

 private:
  static int layout(void** out, lt::DataType type, int64_t rows, int64_t columns) {
    return library().create_layout(out, type, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), rows);
  }
  template <typename Value>
  void set(int attribute, const Value& value) {
    if (status_ == lt::kSuccess)
      take(library().set_product(product_, attribute, &value, sizeof value));
  }
  void take(int status) {
    if (status_ == lt::kSuccess) status_ = status;
  }

  int status_ = lt::kSuccess;
  void* product_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* d_ = nullptr;  // of C, too
};

// What cuBLASLt may suggest: algorithms that fit the workspace, split no sum, and need no more
// alignment than the rows of this project have.
class Preference {
 public:
  explicit Preference(int64_t workspace_bytes) {
    status_ = library().create_preference(&preference_);
    set(lt::kWorkspaceBytes, static_cast<uint64_t>(workspace_bytes));
    set(lt::kReductionSchemes, lt::kNoReduction);
    constexpr uint32_t kAlignmentBytes = 16;
    for (const int operand :
         {lt::kAlignmentOfA, lt::kAlignmentOfB, lt::kAlignmentOfC, lt::kAlignmentOfD})
      set(operand, kAlignmentBytes);
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() {
    if (preference_ != nullptr) library().destroy_preference(preference_);
  }

  int status() const { return status_; }
  void* get() const { return preference_; }

 private:
  template <typename Value>
  void set(int attribute, const Value& value) {
    if (status_ == lt::kSuccess)
      status_ = library().set_preference(preference_, attribute, &value, sizeof value);
  }

  int status_ = lt::kSuccess;
  void* preference_ = nullptr;
};

template <typename Value>
bool has_value(const lt::Algorithm& algorithm, int attribute, Value most) {
  Value value = 0;
  size_t written = 0;
  return library().get(&algorithm, attribute, &value, sizeof value, &written) == lt::kSuccess &&
         value <= most;
}

// cuBLASLt was told to suggest nothing else. This looks at what it has suggested.
bool splits_no_sum(const lt::Algorithm& algorithm) {
  return has_value<int32_t>(algorithm, lt::kSplits, 1) &&
         has_value<uint32_t>(algorithm, lt::kReductionScheme, lt::kNoReduction);
}

bool has_room(const EncodeCudaProduct& args, const lt::Heuristic& heuristic) {
  return heuristic.state == lt::kSuccess &&
         heuristic.workspace_bytes <= static_cast<size_t>(args.workspace_bytes);
}

lt::Algorithm algorithm_of(const EncodeCudaAlgorithm& from) {
  lt::Algorithm algorithm = {};
  for (int i = 0; i < 8; ++i) algorithm.words[i] = from.words[i];
  return algorithm;
}

int64_t version() { return static_cast<int64_t>(library().version()); }

int suggest(const EncodeCudaProduct* args, EncodeCudaAlgorithm* out, int most) {
  constexpr int kMost = 64;
  const Product product(*args);
  const Preference preference(args->workspace_bytes);
  if (product.status() != lt::kSuccess || preference.status() != lt::kSuccess) return 0;
  lt::Heuristic results[kMost] = {};
  int count = 0;
  if (product.suggest(preference.get(), results, most < kMost ? most : kMost, &count) !=
      lt::kSuccess)
    return 0;
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    if (!has_room(*args, results[i]) || !splits_no_sum(results[i].algorithm)) continue;
    for (int word = 0; word < 8; ++word) out[taken].words[word] = results[i].algorithm.words[word];
    ++taken;
  }
  return taken;
}

int check(const EncodeCudaProduct* args, const EncodeCudaAlgorithm* algorithm) {
  const Product product(*args);
  if (product.status() != lt::kSuccess) return product.status();
  lt::Heuristic result = {};
  const lt::Algorithm known = algorithm_of(*algorithm);
  if (const int status = product.check(known, &result); status != lt::kSuccess) return status;
  return has_room(*args, result) && splits_no_sum(known) ? 0 : kEncodeCudaUnsupported;
}

int multiply(const EncodeCudaProduct* args, const EncodeCudaAlgorithm* algorithm) {
  const Product product(*args);
  if (product.status() != lt::kSuccess) return product.status();
  return product.multiply(*args, algorithm_of(*algorithm));
}

int cuda_status(cudaError_t status) {
  if (status == cudaSuccess) return 0;
  cudaGetLastError();  // LibTorch would take the error for one of its next operation
  return kEncodeCudaErrors + static_cast<int>(status);
}

// A pair of events around the work between them.
struct Events {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;

  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    for (cudaEvent_t event : {begin, end}) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
};

int time(const EncodeCudaProduct* args, const EncodeCudaAlgorithm* algorithm, float* milliseconds) {
  const auto stream = static_cast<cudaStream_t>(args->stream);
  Events events;
  cudaError_t status = cudaEventCreate(&events.begin);
  if (status == cudaSuccess) status = cudaEventCreate(&events.end);
  if (status == cudaSuccess) status = cudaEventRecord(events.begin, stream);
  if (status != cudaSuccess) return cuda_status(status);
  if (const int refused = multiply(args, algorithm); refused != 0) return refused;
  status = cudaEventRecord(events.end, stream);
  if (status == cudaSuccess) status = cudaEventSynchronize(events.end);
  if (status == cudaSuccess) status = cudaEventElapsedTime(milliseconds, events.begin, events.end);
  return cuda_status(status);
}

}  // namespace
}  // namespace encode::cuda

extern "C" const EncodeCudaProducts* encode_cuda_products(void) {
  namespace cuda = encode::cuda;
  static const EncodeCudaProducts products = {cuda::version, cuda::suggest, cuda::check,
                                              cuda::multiply, cuda::time};
  return cuda::library().complete ? &products : nullptr;
}
