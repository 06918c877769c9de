#include "kernels/kernels.h"

namespace encode::kernels {

namespace baseline {
const Kernels& table();
}
#ifdef ENCODE_X86_64
namespace avx2 {
const Kernels& table();
}
namespace avx512 {
const Kernels& table();
}
#endif

KernelSets usable_kernels() {
  KernelSets usable = {.sets = {&baseline::table()}, .count = 1};
#ifdef ENCODE_X86_64
  if (__builtin_cpu_supports("x86-64-v3")) usable.sets[usable.count++] = &avx2::table();
  if (__builtin_cpu_supports("x86-64-v4")) usable.sets[usable.count++] = &avx512::table();
#endif
  return usable;
}

const Kernels& kernels() {
  static const Kernels& best = []() -> const Kernels& {
    const KernelSets usable = usable_kernels();
    return *usable.sets[usable.count - 1];
  }();
  return best;
}

}  // namespace encode::kernels
