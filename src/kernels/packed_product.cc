#include <initializer_list>

#include "kernels/linear_functions.h"

namespace encode::kernels {

int64_t PackedWeight::column_blocks() const {
  return (out_features + kBlockColumns - 1) / kBlockColumns;
}

namespace {

const LinearFunctions<BFloat16>& of_bfloat16([[maybe_unused]] LinearKernel kernel) {
#ifdef ENCODE_X86_64
  if (kernel == LinearKernel::kBFloat16Tiles) return amx::bfloat16_linear();
#endif
  return kernels().linears->bfloat16;
}

const LinearFunctions<float>& of_int8(const VectorLinears& vectors) {
  return vectors.int8.linear && has_avx512_vnni() ? vectors.int8 : vectors.int8_pairs;
}

const LinearFunctions<float>& of_float(LinearKernel kernel) {
#ifdef ENCODE_X86_64
  if (kernel != LinearKernel::kFloat32Vectors && kernel != LinearKernel::kInt8Vectors)
    return amx::digit_linear();
#endif
  const VectorLinears& vectors = *kernels().linears;
  return kernel == LinearKernel::kInt8Vectors ? of_int8(vectors) : vectors.float32;
}

const LinearFunctions<Float16>& of_float16() { return kernels().linears->float16; }

// Calls body with the LinearFunctions of the kernel.
template <typename Body>
auto with_functions(LinearKernel kernel, const Body& body) {
  if (kernel == LinearKernel::kFloat16Vectors) return body(of_float16());
  const bool bfloat16 =
      kernel == LinearKernel::kBFloat16Tiles || kernel == LinearKernel::kBFloat16Vectors;
  return bfloat16 ? body(of_bfloat16(kernel)) : body(of_float(kernel));
}

}  // namespace

bool usable(LinearKernel kernel) {
  const VectorLinears* vectors = kernels().linears;
  switch (kernel) {
    case LinearKernel::kBFloat16Tiles:
    case LinearKernel::kOneDigitTiles:
    case LinearKernel::kTwoDigitTiles:
    case LinearKernel::kThreeDigitTiles:
      return facts_of(capability()).has_tiles;
    case LinearKernel::kFloat32Vectors:
      return vectors && vectors->float32.linear;
    case LinearKernel::kBFloat16Vectors:
      return vectors && vectors->bfloat16.linear;
    case LinearKernel::kFloat16Vectors:
      return vectors && vectors->float16.linear;
    case LinearKernel::kInt8Vectors:
      return vectors && of_int8(*vectors).linear;
  }
  return false;
}

std::optional<LinearKernel> kernel_for(ComputeType type, MatmulPrecision precision) {
  using enum LinearKernel;
  const auto first_usable = [](std::initializer_list<LinearKernel> wanted) {
    std::optional<LinearKernel> found;
    for (const LinearKernel kernel : wanted)
      if (!found && usable(kernel)) found = kernel;
    return found;
  };
  switch (type) {
    case ComputeType::kFloat32:
      return first_usable({precision == MatmulPrecision::kHigh ? kTwoDigitTiles : kThreeDigitTiles,
                           kFloat32Vectors});
    case ComputeType::kBFloat16:
      return first_usable({kBFloat16Tiles, kBFloat16Vectors});
    case ComputeType::kFloat16:
      return first_usable({kFloat16Vectors});
    case ComputeType::kInt8:
      return first_usable({kOneDigitTiles, kInt8Vectors});
    case ComputeType::kFp8:
      break;
  }
  return std::nullopt;
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

void pack(const Float16* weight, const PackedWeight& shape, BlockRange range, std::byte* to) {
  of_float16().pack(weight, shape, range, to);
}

void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch) {
  of_float(weight.kernel).linear(weight, call, scratch);
}

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, std::byte* scratch) {
  of_bfloat16(weight.kernel).linear(weight, call, scratch);
}

void linear(const PackedWeight& weight, const Linear<Float16>& call, std::byte* scratch) {
  of_float16().linear(weight, call, scratch);
}

}  // namespace encode::kernels
