#include "kernels/amx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/amx_bfloat16.h"
#include "kernels/amx_digits.h"

namespace encode::kernels::amx {

bool available() {
  static const bool usable = [] {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
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

int64_t PackedWeight::packed_bytes() const {
  return operands == Operands::kBFloat16 ? bfloat16::packed_bytes(*this)
                                         : digits::packed_bytes(*this);
}

int64_t PackedWeight::column_blocks() const {
  return (out_features + kBlockColumns - 1) / kBlockColumns;
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return weight.operands == Operands::kBFloat16 ? bfloat16::scratch_bytes(weight)
                                                : digits::scratch_bytes(weight);
}

void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  digits::pack(weight, shape, range, to);
}

void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  bfloat16::pack(weight, shape, range, reinterpret_cast<BFloat16*>(to));
}

void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  digits::linear(weight, call, scratch);
}

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch) {
  bfloat16::linear(weight, call, reinterpret_cast<BFloat16*>(scratch));
}

void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c) {
  bfloat16::multiply(product, a, b, c);
}

}  // namespace encode::kernels::amx
