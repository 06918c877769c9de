// A plugin with the project's own CUDA kernels, compiled for the CPU and run by the emulator
// (tests/nn/cuda/on_cpu).
#include "counted_plugin.h"
#include "launchers.h"

namespace encode::testing {

EncodeCudaKernels counted_kernels() {
  return {.layer_norm = cuda::layer_norm,
          .rms_norm = cuda::rms_norm,
          .rotary = cuda::rotary,
          .activation = cuda::activation,
          .gated = cuda::gated,
          .embedding = cuda::embedding,
          .pool = cuda::pool,
          .quantize_rows = cuda::quantize_rows,
          .attention = cuda::attention,
          .short_attention = cuda::short_attention};
}

}  // namespace encode::testing
