// The plugin's kernels once more, one number at a time on the host: a table for tests of what is
// built on one.
#pragma once

#include "nn/cuda/plugin.h"

namespace encode::testing {

EncodeCudaKernels host_kernels();

// e4m3 by its definition (Micikevicius et al. 2022): sign, 4 bits of exponent with bias 7, 3 of
// fraction; S.1111.111 is NaN, which these two know nothing of.
double e4m3_value(uint8_t bits);
uint8_t nearest_e4m3(double x);  // ties to the even fraction; beyond 448 it stays 448

}  // namespace encode::testing
