// The plugin's kernels in plain C++ for the CPU, one number at a time. Tests take them as
// reference, and in place of the plugin.
#pragma once

#include "nn/cuda/plugin.h"

namespace encode::testing {

EncodeCudaKernels host_kernels();  // all launchers; their pointers are host memory
int host_attention(const EncodeCudaAttention* args);  // EncodeCudaKernels::attention

// The e4m3 format (Micikevicius et al. 2022) has a sign, 4 bits of exponent with bias 7, and 3 bits
// of fraction. These two functions do not know its NaN, S.1111.111.
double e4m3_value(uint8_t bits);
uint8_t nearest_e4m3(double x);  // rounds ties to the even fraction, and more than 448 to 448

}  // namespace encode::testing
