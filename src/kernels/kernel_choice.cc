#include "kernels/kernel_choice.h"

#include <initializer_list>

namespace encode::kernels {

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

}  // namespace encode::kernels
