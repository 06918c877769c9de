// The bits of IEEE 754 half-precision numbers. The compilers of this project do not have a type for
// them on every processor.
#pragma once

#include <cstdint>

namespace encode {

// Rounds to the nearest number, and to the even one of two that are equally near, as NumPy's
// astype(float16) does. Magnitudes of 65520 and above become infinity.
uint16_t half_bits(float value);
float half_value(uint16_t bits);  // the exact value

}  // namespace encode
