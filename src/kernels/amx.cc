#include "kernels/amx.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace encode::kernels::amx {

bool available() {
  static const bool usable = [] {
    // Linux lets a process use tiles only after the process has asked for them (arch_prctl(2)).
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    // These are bits of EDX of CPUID leaf 7 (Intel SDM, volume 2, CPUID).
    constexpr uint32_t kAmxBFloat16 = 1U << 22;
    constexpr uint32_t kAmxTile = 1U << 24;
    constexpr uint32_t kAmxInt8 = 1U << 25;
    constexpr uint32_t kAll = kAmxBFloat16 | kAmxTile | kAmxInt8;
    return (d & kAll) == kAll && __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("avx512vbmi") &&
           ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return usable;
}

}  // namespace encode::kernels::amx
