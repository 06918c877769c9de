// A libencode_cuda.so with the kernels of host_kernels.h. It serves tests of the programs, for
// which the plugin's own kernels on the CPU would be a hundred times slower.
#include <cstdio>
#include <cstdlib>

#include "host_kernels.h"
#include "nn/cuda/plugin.h"

extern "C" int encode_cuda_device(int /*device*/, EncodeCudaDevice* out) {
  const char* capability = std::getenv("STAND_IN_CAPABILITY");
  *out = {};
  std::snprintf(out->name, sizeof out->name, "stand-in");
  std::sscanf(capability != nullptr ? capability : "9.0", "%d.%d", &out->major, &out->minor);
  out->multiprocessors = 1;
  out->total_memory_bytes = int64_t{8} << 30;
  return 0;
}

extern "C" const EncodeCudaKernels* encode_cuda_kernels() {
  static const EncodeCudaKernels kernels = encode::testing::host_kernels();
  return &kernels;
}
