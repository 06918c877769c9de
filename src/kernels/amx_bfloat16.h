// Products of bfloat16 operands: the part of amx.h for Operands::kBFloat16, same contracts.
#pragma once

#include "kernels/amx.h"

namespace encode::kernels::amx::bfloat16 {

int64_t packed_bytes(const PackedWeight& weight);
int64_t scratch_bytes(const PackedWeight& weight);
void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, BFloat16* to);
void linear(const PackedWeight& weight, const Linear<BFloat16>& call, BFloat16* scratch);

void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c);

}  // namespace encode::kernels::amx::bfloat16
