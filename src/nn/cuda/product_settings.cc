#include "nn/cuda/product_settings.h"

#include <cstdlib>

#include <ATen/Context.h>
#include <c10/util/Exception.h>

namespace encode {
namespace {

// Drops the warning that the choice of cuBLASLt is experimental. The user did not choose it.
class NoWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

}  // namespace

const std::vector<ProductVariable>& product_environment() {
  static const std::vector<ProductVariable> variables = {
      {"CUBLASLT_WORKSPACE_SIZE", "32768"},  // KiB
      // LibTorch parses this variable with std::regex three times for each product, which takes
      // 0.15 ms of the host (on an H100's host, more than the product takes on the GPU).
      {"CUBLAS_WORKSPACE_CONFIG", nullptr},
      // With this variable cuBLASLt would use the workspace of cuBLAS. The default size of that
      // workspace depends on the GPU.
      {"TORCH_CUBLASLT_UNIFIED_WORKSPACE", nullptr},
      {"TORCH_BLAS_PREFER_CUBLASLT", nullptr},
      {"DISABLE_ADDMM_CUDA_LT", nullptr},
      // TunableOp times several kernels and takes the fastest. Another run may take another kernel.
      {"PYTORCH_TUNABLEOP_ENABLED", nullptr},
      {"NVIDIA_TF32_OVERRIDE", nullptr},
      {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", nullptr},
      {"CUBLAS_EMULATE_SINGLE_PRECISION", nullptr},  // float32 products from bfloat16 products
      {"CUBLAS_EMULATION_STRATEGY", nullptr}};
  return variables;
}

void set_product_environment() {
  for (const ProductVariable& variable : product_environment()) {
    if (variable.value != nullptr) {
      ::setenv(variable.name, variable.value, /*replace=*/1);
    } else {
      ::unsetenv(variable.name);
    }
  }
}

void set_product_options() {
  NoWarnings quiet;
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  at::Context& context = at::globalContext();
  context.setBlasPreferredBackend(at::BlasBackend::Cublaslt);
  context.setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false, /*allow_splitk=*/false);
  context.setAllowFP16ReductionCuBLAS(/*allow_reduced_precision=*/false, /*allow_splitk=*/false);
  context.setAllowFP16AccumulationCuBLAS(false);
  context.setFloat32MatmulPrecision("highest");
}

}  // namespace encode
