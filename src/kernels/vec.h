// Sixteen float32 lanes in the vector type of the compiler: one zmm register with AVX-512, two ymm
// registers with AVX2, and four registers of 128 bits otherwise. There are sixteen lanes for every
// register width, so sums have the same order. Only the sources that are compiled per instruction
// set include this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#ifdef __AVX512BW__
#include <immintrin.h>
#endif

#include "kernels/kernels.h"

namespace encode::kernels::ENCODE_ISA {

constexpr int64_t kLanes = 16;

using Vec = float __attribute__((vector_size(64)));
using IntVec = int32_t __attribute__((vector_size(64)));
using ShortVec = uint16_t __attribute__((vector_size(32)));
using UintVec = uint32_t __attribute__((vector_size(64)));

inline Vec splat(float x) { return Vec{} + x; }
inline UintVec bits_of(Vec x) { return reinterpret_cast<UintVec>(x); }
inline Vec from_bits(UintVec x) { return reinterpret_cast<Vec>(x); }

// The 32-bit lanes of one register.
#ifdef __AVX512F__
constexpr int64_t kWide = 16;
#elif defined(__AVX2__)
constexpr int64_t kWide = 8;
#else
constexpr int64_t kWide = 4;
#endif
template <typename Element>
using Register [[gnu::vector_size(kWide * 4)]] = Element;

template <typename V>
using ElementOf = std::remove_cvref_t<decltype(std::declval<V>()[0])>;

// Returns lanes [kWide i, kWide (i + 1)) of v.
template <typename V>
inline Register<ElementOf<V>> register_of(const V& v, int64_t i) {
  Register<ElementOf<V>> part;
  __builtin_memcpy(&part, reinterpret_cast<const std::byte*>(&v) + i * sizeof part, sizeof part);
  return part;
}

// Returns a < b ? x : y for each lane. The loop handles one register at a time, because GCC 12
// handles one lane at a time if a vector is wider than a register.
template <typename Key, typename Value>
inline Value choose_less(const Key& a, const Key& b, const Value& x, const Value& y) {
  Value chosen;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes / kWide; ++i) {
    const auto part = register_of(a, i) < register_of(b, i) ? register_of(x, i) : register_of(y, i);
    __builtin_memcpy(reinterpret_cast<std::byte*>(&chosen) + i * sizeof part, &part, sizeof part);
  }
  return chosen;
}

// These functions return the maximum and the minimum of each lane. Both return b if a or b is NaN.
// GCC 12 would emit a comparison and a choice; the assembly is one instruction.
#ifdef __AVX512F__
inline Vec max(Vec a, Vec b) {
  Vec c;
  __asm__("vmaxps %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
  return c;
}
inline Vec min(Vec a, Vec b) {
  Vec c;
  __asm__("vminps %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
  return c;
}
#else
inline Vec max(Vec a, Vec b) { return choose_less(b, a, a, b); }
inline Vec min(Vec a, Vec b) { return choose_less(a, b, a, b); }
#endif

inline UintVec max(const UintVec& a, const UintVec& b) { return choose_less(b, a, a, b); }

// Joins each lane i with lane i ^ distance, and repeats this with half the distance, down to 1.
template <int distance, typename V, typename Join, int... lane>
inline V join_register(V x, const Join& join, std::integer_sequence<int, lane...> lanes) {
  x = join(x, __builtin_shufflevector(x, x, (lane ^ distance)...));
  if constexpr (distance > 1) x = join_register<distance / 2>(x, join, lanes);
  return x;
}

// Joins all lanes: first each lane i with lane i + 8, then results that are 4 lanes apart, then 2,
// then 1. This order is the same for every register width.
template <typename V, typename Join>
inline ElementOf<V> join_lanes(const V& x, const Join& join) {
  constexpr int64_t kRegisters = kLanes / kWide;
  Register<ElementOf<V>> parts[kRegisters];
  for (int64_t i = 0; i < kRegisters; ++i) parts[i] = register_of(x, i);
  for (int64_t half = kRegisters / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) parts[i] = join(parts[i], parts[i + half]);
  }
  return join_register<kWide / 2>(parts[0], join, std::make_integer_sequence<int, kWide>{})[0];
}
inline float sum(const Vec& x) {
  return join_lanes(x, [](auto a, auto b) { return a + b; });
}
// Returns the largest lane of float32 numbers or of integers.
template <typename V>
inline ElementOf<V> largest(const V& x) {
  return join_lanes(x, [](auto a, auto b) { return a > b ? a : b; });
}

// Returns x times 2^n. Each n is a whole number, and 2^n and the result must be normal numbers.
inline Vec times_power_of_two(Vec x, Vec n) {
#ifdef __AVX512F__
  Vec y;
  __asm__("vscalefps %2, %1, %0" : "=v"(y) : "v"(x), "v"(n));
  return y;
#else
  const IntVec exponent = (__builtin_convertvector(n, IntVec) + 127) << 23;
  return x * reinterpret_cast<Vec>(exponent);
#endif
}

// Returns a / b with an error of at most two units in the last place, for b far from zero and
// infinity. With AVX-512 this is an estimate of 14 bits (VRCP14PS) and one Newton step, which take
// a third of the time of a division.
inline Vec fast_quotient(Vec a, Vec b) {
#ifdef __AVX512F__
  Vec reciprocal;
  __asm__("vrcp14ps %1, %0" : "=v"(reciprocal) : "v"(b));
  reciprocal *= 2.0F - b * reciprocal;
  return a * reciprocal;
#else
  return a / b;
#endif
}

// Loads and stores at any address. load_raw() and store_raw() move a V without converting it.
// load() and store() move sixteen elements and convert them from and to float32.
template <typename V, typename T>
inline V load_raw(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <typename V, typename T>
inline void store_raw(const V& v, T* to) {
  __builtin_memcpy(to, &v, sizeof(V));
}

inline Vec load(const float* from) { return load_raw<Vec>(from); }
inline void store(Vec v, float* to) { store_raw(v, to); }

inline Vec load(const BFloat16* from) {
  return from_bits(__builtin_convertvector(load_raw<ShortVec>(from), UintVec) << 16);
}

// Rounds to the nearest bfloat16 number, ties to even. NaN stays NaN.
inline UintVec round_to_bfloat16(Vec v) {
  const UintVec bits = bits_of(v);
  const UintVec rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  return choose_less(UintVec{} + 0x7F800000U, bits & 0x7FFFFFFFU, (bits >> 16) | 0x40U, rounded);
}

#ifdef __AVX512BF16__
// The instructions of AVX512_BF16 treat subnormal numbers as zero.
constexpr bool kFlushesSubnormalBFloat16 = true;
inline void store(Vec v, BFloat16* to) {
  ShortVec rounded;
  __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
  store_raw(rounded, to);
}
#else
constexpr bool kFlushesSubnormalBFloat16 = false;
inline void store(Vec v, BFloat16* to) {
  store_raw(__builtin_convertvector(round_to_bfloat16(v), ShortVec), to);
}
#endif

#if defined(__F16C__) || defined(__ARM_NEON)
// Holds as many 16-bit numbers as a register has lanes of 32 bits.
using HalfRegister = uint16_t __attribute__((vector_size(kWide * 2)));

// The conversion instructions keep subnormal numbers and round to the nearest, ties to even.
inline Register<float> widened(HalfRegister half) {
  Register<float> wide;
#ifdef __ARM_NEON
  __asm__("fcvtl %0.4s, %1.4h" : "=w"(wide) : "w"(half));
#else
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "v"(half));
#endif
  return wide;
}
inline HalfRegister narrowed(Register<float> wide) {
  HalfRegister half;
#ifdef __ARM_NEON
  __asm__("fcvtn %0.4h, %1.4s" : "=w"(half) : "w"(wide));
#else
  __asm__("vcvtps2ph $0, %1, %0" : "=v"(half) : "v"(wide));
#endif
  return half;
}

inline Vec load(const Float16* from) {
  Vec wide;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes; i += kWide) {
    const Register<float> part = widened(load_raw<HalfRegister>(from + i));
    __builtin_memcpy(reinterpret_cast<float*>(&wide) + i, &part, sizeof part);
  }
  return wide;
}

inline void store(Vec v, Float16* to) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes; i += kWide)
    store_raw(narrowed(register_of(v, i / kWide)), to + i);
}
#else
// Converts float16 to float32. The bits are moved to their float32 positions; the factor 2^112 then
// corrects the bias of the exponent and makes subnormal numbers normal. Infinity and NaN get the
// largest exponent instead.
inline Vec load(const Float16* from) {
  const UintVec half = __builtin_convertvector(load_raw<ShortVec>(from), UintVec);
  const UintVec sign = (half & 0x8000U) << 16;
  const UintVec magnitude = half & 0x7FFFU;
  const UintVec scaled = bits_of(from_bits(magnitude << 13) * splat(0x1p112F));
  const UintVec special = (magnitude << 13) | 0x7F800000U;
  return from_bits(choose_less(magnitude, UintVec{} + 0x7C00U, scaled, special) | sign);
}

// Rounds to the nearest float16 number, ties to even. Normal results are rounded in integer
// arithmetic: 0xC8000FFF changes the bias of the exponent and adds just under half a unit. Results
// below 2^-14 are rounded by adding 0.5, because the last place of 0.5 is the smallest subnormal
// float16 number.
inline void store(Vec v, Float16* to) {
  const UintVec bits = bits_of(v);
  const UintVec sign = (bits >> 16) & 0x8000U;
  const UintVec magnitude = bits & 0x7FFFFFFFU;
  const UintVec normal = (magnitude + 0xC8000FFFU + ((magnitude >> 13) & 1U)) >> 13;
  const UintVec tiny = bits_of(from_bits(magnitude) + splat(0.5F)) - 0x3F000000U;
  const UintVec finite = choose_less(magnitude, UintVec{} + 0x38800000U, tiny, normal);
  const UintVec infinity = (UintVec{} + 0x7C00U) | choose_less(UintVec{} + 0x7F800000U, magnitude,
                                                               UintVec{} + 0x200U, UintVec{});
  const UintVec half = sign | choose_less(magnitude, UintVec{} + 0x477FF000U, finite, infinity);
  store_raw(__builtin_convertvector(half, ShortVec), to);
}
#endif

#ifdef __AVX512BW__
// Returns the mask of the first n < 16 lanes.
inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1U << n) - 1U); }

// Loads or stores the first n < 16 elements. The other lanes of a loaded Vec are zero.
inline Vec load_part(const float* from, int64_t n) {
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(first_lanes(n), from));
}
template <typename T>
inline Vec load_part(const T* from, int64_t n) {
  const __m256i padded = _mm256_maskz_loadu_epi16(first_lanes(n), from);
  return load(reinterpret_cast<const T*>(&padded));
}

inline void store_part(Vec v, float* to, int64_t n) {
  _mm512_mask_storeu_ps(to, first_lanes(n), reinterpret_cast<__m512>(v));
}
template <typename T>
inline void store_part(Vec v, T* to, int64_t n) {
  __m256i padded;
  store(v, reinterpret_cast<T*>(&padded));
  _mm256_mask_storeu_epi16(to, first_lanes(n), padded);
}
#else
// Loads or stores the first n < 16 elements. The other lanes of a loaded Vec are zero.
template <typename T>
inline Vec load_part(const T* from, int64_t n) {
  T padded[kLanes] = {};
  __builtin_memcpy(padded, from, static_cast<uint64_t>(n) * sizeof(T));
  return load(padded);
}

template <typename T>
inline void store_part(Vec v, T* to, int64_t n) {
  T padded[kLanes];
  store(v, padded);
  __builtin_memcpy(to, padded, static_cast<uint64_t>(n) * sizeof(T));
}
#endif

// Returns v with the lanes from n on replaced by `other`.
inline Vec keep_first(Vec v, int64_t n, float other) {
  constexpr IntVec kLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return choose_less(kLane, IntVec{} + static_cast<int32_t>(n), v, splat(other));
}

// Transposes a square of 16 x 16 words in registers of 128 bits. GCC 12 would move single words if
// the shuffles below were wider than a register.
inline void transpose_squares(UintVec* v) {
  using Four = uint32_t __attribute__((vector_size(16)));
  constexpr int64_t kSquares = kLanes / 4;
  Four words[kLanes][kSquares];
  __builtin_memcpy(words, v, sizeof words);
  Four out[kLanes][kSquares];
  for (int64_t row = 0; row < kLanes; row += 4) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSquares; ++i) {
      const Four a = words[row][i];
      const Four b = words[row + 1][i];
      const Four c = words[row + 2][i];
      const Four d = words[row + 3][i];
      const Four ac = __builtin_shufflevector(a, c, 0, 4, 1, 5);
      const Four bd = __builtin_shufflevector(b, d, 0, 4, 1, 5);
      const Four ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
      const Four bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
      out[4 * i][row / 4] = __builtin_shufflevector(ac, bd, 0, 4, 1, 5);
      out[4 * i + 1][row / 4] = __builtin_shufflevector(ac, bd, 2, 6, 3, 7);
      out[4 * i + 2][row / 4] = __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5);
      out[4 * i + 3][row / 4] = __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7);
    }
  }
  __builtin_memcpy(v, out, sizeof out);
}

// Transposes a square of 16 x 16 words. The first two loops transpose the squares of 4 x 4 words
// within 128 bits, and the third one moves these squares to their places.
inline void transpose_words(UintVec* v) {
  if constexpr (kWide == 4) return transpose_squares(v);
  UintVec out[kLanes];
  for (int64_t i = 0; i < kLanes; i += 2) {
    const UintVec a = v[i];
    const UintVec b = v[i + 1];
    out[i] =
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    out[i + 1] =
        __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  const auto low = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  };
  const auto high = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30,
                                   31);
  };
  for (int64_t i = 0; i < kLanes; i += 4) {
    v[i] = low(out[i], out[i + 2]);
    v[i + 1] = high(out[i], out[i + 2]);
    v[i + 2] = low(out[i + 1], out[i + 3]);
    v[i + 3] = high(out[i + 1], out[i + 3]);
  }
  const auto even = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  };
  const auto odd = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
  };
  for (int64_t i = 0; i < 4; ++i) {
    out[i] = even(even(v[i], v[4 + i]), even(v[8 + i], v[12 + i]));
    out[4 + i] = even(odd(v[i], v[4 + i]), odd(v[8 + i], v[12 + i]));
    out[8 + i] = odd(even(v[i], v[4 + i]), even(v[8 + i], v[12 + i]));
    out[12 + i] = odd(odd(v[i], v[4 + i]), odd(v[8 + i], v[12 + i]));
  }
  for (int64_t i = 0; i < kLanes; ++i) v[i] = out[i];
}

// Calls whole(offset) for each group of sixteen elements, and part(offset, size) for the elements
// that are left if n is not a multiple of sixteen.
template <typename Whole, typename Part>
inline void for_groups(int64_t n, const Whole& whole, const Part& part) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) whole(i);
  if (i < n) part(i, n - i);
}

}  // namespace encode::kernels::ENCODE_ISA
