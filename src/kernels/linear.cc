#include "kernels/linear_functions.h"

namespace encode::kernels {

int64_t PackedWeight::column_blocks() const {
  return (out_features + kBlockColumns - 1) / kBlockColumns;
}

#ifdef ENCODE_X86_64

namespace {

const VectorLinears& vectors() {
  switch (capability()) {
    case Capability::kAmx:
    case Capability::kAvx512Bf16:
      return avx512bf16::vector_linears();
    case Capability::kAvx512:
      return avx512::vector_linears();
    case Capability::kAvx2:
    case Capability::kBaseline:
      break;
  }
  return avx2::vector_linears();
}

const LinearFunctions<BFloat16>& of_bfloat16(LinearKernel kernel) {
  return kernel == LinearKernel::kBFloat16Tiles ? amx::bfloat16_linear() : vectors().bfloat16;
}

const LinearFunctions<float>& of_float(LinearKernel kernel) {
  switch (kernel) {
    case LinearKernel::kFloat32Vectors:
      return vectors().float32;
    case LinearKernel::kInt8Vectors:
      return vectors().int8;
    default:
      return amx::digit_linear();
  }
}

// body(the kernel's functions).
template <typename Body>
auto with_functions(LinearKernel kernel, const Body& body) {
  const bool bfloat16 =
      kernel == LinearKernel::kBFloat16Tiles || kernel == LinearKernel::kBFloat16Vectors;
  return bfloat16 ? body(of_bfloat16(kernel)) : body(of_float(kernel));
}

}  // namespace

bool usable(LinearKernel kernel) {
  switch (kernel) {
    case LinearKernel::kBFloat16Tiles:
    case LinearKernel::kOneDigitTiles:
    case LinearKernel::kTwoDigitTiles:
    case LinearKernel::kThreeDigitTiles:
      return capability() >= Capability::kAmx;
    case LinearKernel::kFloat32Vectors:
      return capability() >= Capability::kAvx2;
    case LinearKernel::kBFloat16Vectors:
      return capability() >= Capability::kAvx512Bf16;
    case LinearKernel::kInt8Vectors:
      return capability() >= Capability::kAvx512 && __builtin_cpu_supports("avx512vnni");
  }
  return false;
}

int64_t PackedWeight::packed_bytes() const {
  return with_functions(kernel,
                        [this](const auto& functions) { return functions.packed_bytes(*this); });
}

int64_t scratch_bytes(const PackedWeight& weight) {
  return with_functions(weight.kernel,
                        [&](const auto& functions) { return functions.scratch_bytes(weight); });
}

void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  of_float(shape.kernel).pack(weight, shape, range, to);
}

void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  of_bfloat16(shape.kernel).pack(weight, shape, range, to);
}

void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  of_float(weight.kernel).linear(weight, call, scratch);
}

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch) {
  of_bfloat16(weight.kernel).linear(weight, call, scratch);
}

#else

bool usable(LinearKernel /*kernel*/) { return false; }
int64_t PackedWeight::packed_bytes() const { return 0; }
int64_t scratch_bytes(const PackedWeight& /*weight*/) { return 0; }
void pack(const float*, const PackedWeight&, BlockRange, std::byte*) {}
void pack(const BFloat16*, const PackedWeight&, BlockRange, std::byte*) {}
void linear(const PackedWeight&, const Linear<float>&, std::byte*) {}
void linear(const PackedWeight&, const Linear<BFloat16>&, std::byte*) {}

#endif

}  // namespace encode::kernels
