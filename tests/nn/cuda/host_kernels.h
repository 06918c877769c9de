// The plugin's kernels in plain C++ for the CPU, which compute one number at a time. Tests use them
// as references and as a replacement for the plugin.
#pragma once

#include "nn/cuda/plugin.h"

namespace encode::testing {

EncodeCudaKernels host_kernels();  // All pointers are host memory.
// These replace EncodeCudaKernels::attention and short_attention.
int host_attention(const EncodeCudaAttention* args);
int host_short_attention(const EncodeCudaAttention* args);

// The e4m3 format (Micikevicius et al. 2022) has a sign bit, 4 bits of exponent with bias 7, and 3
// bits of fraction. The two functions below do not support its NaN, S.1111.111.
double e4m3_value(uint8_t bits);
uint8_t nearest_e4m3(double x);  // rounds ties to the even fraction, and more than 448 to 448

}  // namespace encode::testing
