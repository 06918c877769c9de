#include "counted_plugin.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "stand_in.h"
#include "traffic.h"

namespace encode::testing {
namespace {

struct Calls {
  std::mutex mutex;
  std::map<std::string, int64_t, std::less<>> of;
};

Calls& calls() {
  static Calls all;
  return all;
}

// Tells the stand-in about a launch. Returns 0 or a cudaError_t.
int launched(int64_t bytes) {
  static const auto tell = reinterpret_cast<decltype(&cuda_stand_in_launched)>(
      ::dlsym(RTLD_DEFAULT, "cuda_stand_in_launched"));
  return tell != nullptr ? tell(bytes) : 0;
}

template <typename Arguments>
bool quantizes(const Arguments& arguments) {
  if constexpr (requires { arguments.fp8; }) return arguments.fp8.values != nullptr;
  return false;
}

// The name of a kernel in a form that a template can take.
template <size_t kSize>
struct Name {
  char text[kSize] = {};
  consteval Name(const char (&from)[kSize]) {
    for (size_t i = 0; i < kSize; ++i) text[i] = from[i];
  }
};

template <auto kKernel, typename Arguments>
int64_t traffic_of(const Arguments& arguments) {
  if constexpr (std::is_same_v<Arguments, EncodeCudaElementwise>)
    return traffic(arguments, kKernel == &EncodeCudaKernels::gated);
  else
    return traffic(arguments);
}

template <Name kName, auto kKernel, typename Arguments>
int counted(const Arguments* arguments) {
  static const EncodeCudaKernels kernels = counted_kernels();
  const std::string name = std::string(kName.text) + (quantizes(*arguments) ? " to fp8" : "");
  {
    const std::lock_guard lock(calls().mutex);
    ++calls().of[name];
  }
  const int status = launched(traffic_of<kKernel>(*arguments));
  return status != 0 ? status : (kernels.*kKernel)(arguments);
}

}  // namespace

}  // namespace encode::testing

using encode::testing::calls;
using encode::testing::counted;

extern "C" int64_t encode_cuda_calls(const char* name) {
  const std::lock_guard lock(calls().mutex);
  const auto count = calls().of.find(name);
  return count != calls().of.end() ? count->second : 0;
}

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
  using Table = EncodeCudaKernels;
  static const EncodeCudaKernels kernels = {
      .layer_norm = counted<"layer_norm", &Table::layer_norm>,
      .rms_norm = counted<"rms_norm", &Table::rms_norm>,
      .rotary = counted<"rotary", &Table::rotary>,
      .activation = counted<"activation", &Table::activation>,
      .gated = counted<"gated", &Table::gated>,
      .embedding = counted<"embedding", &Table::embedding>,
      .pool = counted<"pool", &Table::pool>,
      .quantize_rows = counted<"quantize_rows", &Table::quantize_rows>,
      .attention = counted<"attention", &Table::attention>,
      .short_attention = counted<"short_attention", &Table::short_attention>};
  return &kernels;
}
