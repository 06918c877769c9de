#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "encode/error.h"

#include "kernels/amx.h"

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

namespace {

constexpr std::array<const char*, 4> kNames = {"baseline", "avx2", "avx512", "amx"};

Capability of_processor() {
#ifdef ENCODE_X86_64
  if (amx::available()) return Capability::kAmx;
  if (__builtin_cpu_supports("x86-64-v4")) return Capability::kAvx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Capability::kAvx2;
#endif
  return Capability::kBaseline;
}

Capability asked_for() {
  const char* value = std::getenv("ENCODE_CPU_CAPABILITY");
  if (value == nullptr || *value == '\0') return Capability::kAmx;
  for (size_t i = 0; i < kNames.size(); ++i)
    if (std::string_view(value) == kNames[i]) return static_cast<Capability>(i);
  throw Error({.exit_code = ExitCode::kUsage,
               .code = "cpu.capability",
               .what = "unknown processor capability",
               .where = "environment variable ENCODE_CPU_CAPABILITY",
               .expected = "baseline, avx2, avx512 or amx",
               .found = "'" + std::string(value) + "'",
               .hint = "leave it unset to use all that the processor has"});
}

}  // namespace

KernelSets usable_kernels() {
  KernelSets usable = {.sets = {&baseline::table()}, .count = 1};
#ifdef ENCODE_X86_64
  if (__builtin_cpu_supports("x86-64-v3")) usable.sets[usable.count++] = &avx2::table();
  if (__builtin_cpu_supports("x86-64-v4")) usable.sets[usable.count++] = &avx512::table();
#endif
  return usable;
}

Capability capability() {
  static const Capability allowed = std::min(of_processor(), asked_for());
  return allowed;
}

const char* to_string(Capability capability) { return kNames[static_cast<size_t>(capability)]; }

const Kernels& kernels() {
  static const Kernels& best = []() -> const Kernels& {
    const KernelSets usable = usable_kernels();
    const int last = std::min(static_cast<int>(capability()), usable.count - 1);
    return *usable.sets[last];
  }();
  return best;
}

}  // namespace encode::kernels
