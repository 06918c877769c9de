#include "model_dir/tensor_types.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

// The dtypes of safetensors whose elements take whole bytes. A model reads only kWeightTypes.
// Tensors that no model reads may have the other dtypes; the buffer `position_ids`, for example, is
// I64.
constexpr std::array<std::pair<std::string_view, int64_t>, 14> kDtypes = {{{"F32", 4},
                                                                           {"F16", 2},
                                                                           {"BF16", 2},
                                                                           {"I64", 8},
                                                                           {"BOOL", 1},
                                                                           {"U8", 1},
                                                                           {"I8", 1},
                                                                           {"F8_E4M3", 1},
                                                                           {"F8_E5M2", 1},
                                                                           {"I16", 2},
                                                                           {"U16", 2},
                                                                           {"I32", 4},
                                                                           {"U32", 4},
                                                                           {"F64", 8}}};

}  // namespace

int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kDtypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

bool is_weight_type(std::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

int64_t checked_bytes(std::span<const int64_t> shape, std::string_view dtype,
                      const std::string& where) {
  int64_t bytes = dtype_bytes(dtype);
  if (bytes == 0) {
    throw Error(
        {.code = "model.dtype",
         .what = "a tensor has an unknown dtype",
         .where = where,
         .expected = fmt::format("{} (I8 to I64, U8 to U32, BOOL and F8_* only in tensors that the "
                                 "model does not need)",
                                 kWeightTypes),
         .found = fmt::format("'{}'", preview(dtype)),
         .hint =
             "quantized checkpoints are not supported: use one in float32, float16 or bfloat16"});
  }
  bool valid = static_cast<int64_t>(shape.size()) <= kMaxRank;
  for (const int64_t dim : shape) {
    valid = valid && dim >= 1 && dim <= kMaxDim && !__builtin_mul_overflow(bytes, dim, &bytes);
  }
  if (valid) return bytes;
  throw Error({.code = "model.shape",
               .what = "a tensor has an impossible shape",
               .where = where,
               .expected = "at most 8 dimensions of 1 to 2^40, together less than 2^63 bytes",
               .found = shape_text(shape),
               .hint = "the file is damaged or was made to attack its reader: do not use it"});
}

}  // namespace encode
