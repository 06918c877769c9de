#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "base/units.h"
#include "kernels/amx.h"

namespace encode::kernels {

#ifdef ENCODE_AARCH64
namespace neon {
const Kernels& table();
}
#else
namespace baseline {
const Kernels& table();
}
#endif
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

bool always() { return true; }

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

struct InstructionSet {
  Capability capability;
  bool (*usable)();
  const Kernels& (*kernels)();
};

// The instruction sets of the processor architecture for which this program is compiled. Each one
// includes those before it.
#if defined(ENCODE_X86_64)
constexpr auto kInstructionSets =
    std::to_array<InstructionSet>({{Capability::kBaseline, always, baseline::table},
                                   {Capability::kAvx2, has_avx2, avx2::table},
                                   {Capability::kAvx512, has_avx512, avx512::table},
                                   {Capability::kAvx512Bf16, has_avx512bf16, avx512bf16::table},
                                   {Capability::kAmx, has_amx, avx512bf16::table}});
#elif defined(ENCODE_AARCH64)
constexpr auto kInstructionSets =
    std::to_array<InstructionSet>({{Capability::kNeon, always, neon::table}});
#else
constexpr auto kInstructionSets =
    std::to_array<InstructionSet>({{Capability::kBaseline, always, baseline::table}});
#endif

}  // namespace

Capability processor_capability() {
  Capability best = kInstructionSets.front().capability;
  for (const InstructionSet& set : kInstructionSets)
    if (set.usable()) best = set.capability;
  return best;
}

namespace {

Capability asked_for() {
  const char* value = std::getenv("ENCODE_CPU_CAPABILITY");
  if (value == nullptr || *value == '\0') return kInstructionSets.back().capability;
  for (const InstructionSet& set : kInstructionSets)
    if (std::string_view(value) == to_string(set.capability)) return set.capability;
  throw Error({.code = "cpu.capability",
               .what = "unknown processor capability",
               .where = "environment variable ENCODE_CPU_CAPABILITY",
               .expected = capabilities_in_words(),
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

Capability capability() {
  static const Capability allowed = std::min(processor_capability(), asked_for());
  return allowed;
}

const char* to_string(Capability capability) { return facts_of(capability).name; }

std::string capabilities_in_words() {
  std::vector<std::string> names;
  for (const InstructionSet& set : kInstructionSets) names.emplace_back(to_string(set.capability));
  return list_in_words(names, "or");
}

const Kernels* kernels_of(Capability capability) {
  for (const InstructionSet& set : kInstructionSets)
    if (set.capability == capability) return &set.kernels();
  return nullptr;
}

const Kernels& kernels() {
  static const Kernels& best = *kernels_of(capability());
  return best;
}

}  // namespace encode::kernels
