// IEEE 754 half precision, as bits: the compilers of this project have no type for it on every
// processor.
#pragma once

#include <cstdint>

namespace encode {

// Rounded to the nearest, ties to even, as NumPy's astype(float16): infinity from 65520 on.
uint16_t half_bits(float value);
float half_value(uint16_t bits);

}  // namespace encode
