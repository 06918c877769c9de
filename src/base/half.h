// Converts between float and the bits of IEEE 754 half-precision numbers. The supported compilers
// do not have a half-precision type for every processor. Any thread may call these functions. They
// throw no Error.
#pragma once

#include <cstdint>
#include <span>

namespace encode {

// Rounds to the nearest half-precision number, with ties to even, as NumPy's astype(float16) does.
// Magnitudes of 65520 and above become infinity.
uint16_t half_bits(float value);
float half_value(uint16_t bits);  // returns the exact value

// Replaces each value by the half-precision number to which half_bits() rounds it.
void round_to_half(std::span<float> values);

}  // namespace encode
