// Products of float32 operands by their digits: the part of amx.h for the Operands of that name,
// same contracts.
#pragma once

#include "kernels/amx.h"

namespace encode::kernels::amx::digits {

int64_t packed_bytes(const PackedWeight& weight);
int64_t scratch_bytes(const PackedWeight& weight);
void pack(const float* weight, const PackedWeight& shape, BlockRange range, std::byte* to);
void linear(const PackedWeight& weight, const Linear<float>& call, std::byte* scratch);

}  // namespace encode::kernels::amx::digits
