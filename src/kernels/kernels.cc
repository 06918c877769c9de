#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
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
namespace avx512bf16 {
const Kernels& table();
}
#endif

namespace {

constexpr std::array<const char*, 5> kNames = {"baseline", "avx2", "avx512", "avx512bf16", "amx"};

#ifdef ENCODE_X86_64
// These functions test for x86-64-v3 and x86-64-v4 by the newest features of each level, because a
// processor with these features has the other features of the level, too.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx512bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && has_avx512_vnni();
}
bool has_amx() { return has_avx512bf16() && amx::available(); }
#endif

}  // namespace

Capability processor_capability() {
#ifdef ENCODE_X86_64
  if (has_amx()) return Capability::kAmx;
  if (has_avx512bf16()) return Capability::kAvx512Bf16;
  if (has_avx512()) return Capability::kAvx512;
  if (has_avx2()) return Capability::kAvx2;
#endif
  return Capability::kBaseline;
}

namespace {

Capability asked_for() {
  const char* value = std::getenv("ENCODE_CPU_CAPABILITY");
  if (value == nullptr || *value == '\0') return Capability::kAmx;
  for (size_t i = 0; i < kNames.size(); ++i)
    if (std::string_view(value) == kNames[i]) return static_cast<Capability>(i);
  throw Error({.code = "cpu.capability",
               .what = "unknown processor capability",
               .where = "environment variable ENCODE_CPU_CAPABILITY",
               .expected = "baseline, avx2, avx512, avx512bf16 or amx",
               .found = fmt::format("'{}'", value),
               .hint = "unset the variable to use the best instruction set of the processor"});
}

}  // namespace

bool has_avx512_vnni() {
#ifdef ENCODE_X86_64
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

KernelSets usable_kernels() {
  KernelSets usable = {.sets = {&baseline::table()}, .count = 1};
#ifdef ENCODE_X86_64
  if (has_avx2()) usable.sets[usable.count++] = &avx2::table();
  if (has_avx512()) usable.sets[usable.count++] = &avx512::table();
  if (has_avx512bf16()) usable.sets[usable.count++] = &avx512bf16::table();
#endif
  return usable;
}

Capability capability() {
  static const Capability allowed = std::min(processor_capability(), asked_for());
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
