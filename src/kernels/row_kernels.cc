// The kernels of kernels.h for the instruction set ENCODE_ISA.
#include "kernels/kernels.h"
#include "kernels/lane_activations.h"
#include "kernels/linear_functions.h"
#include "kernels/vec.h"
#include "kernels/word_products.h"

namespace encode::kernels::ENCODE_ISA {
namespace {

struct Scores {
  const float* s;
  int64_t n;
  float scale;
};

// Computes p[j] = power(scale x s[j] - m), where m is the largest scale x s[j], and returns the sum
// of p before rounding. Each lane adds its numbers in the order of j, and sum() adds the lanes.
template <typename T, typename Power>
inline float powers_of_scores(const Scores& scores, T* p, const Power& power) {
  // In clang 14 a lambda cannot capture the names of a structured binding.
  const float* const s = scores.s;
  const float scale = scores.scale;
  constexpr float kLowest = -0x1.fffffep127F;
  Vec most = splat(kLowest);
  for_groups(
      scores.n, [&](int64_t i) { most = max(most, load(s + i) * scale); },
      [&](int64_t i, int64_t size) {
        most = max(most, keep_first(load_part(s + i, size) * scale, size, kLowest));
      });
  const float top = largest(most);
  Vec total = {};
  for_groups(
      scores.n,
      [&](int64_t i) {
        const Vec e = power(load(s + i) * scale - top);
        store(e, p + i);
        total += e;
      },
      [&](int64_t i, int64_t size) {
        const Vec e = power(load_part(s + i, size) * scale - top);
        store_part(e, p + i, size);
        total += keep_first(e, size, 0);
      });
  return sum(total);
}

float exp_scores(const float* s, int64_t n, float scale, float* p) {
  return powers_of_scores({s, n, scale}, p, [](Vec x) { return exp(x); });
}

// Computes exp(x) as 2^(x log2(e)), so `scale` is multiplied by log2(e).
float exp_scores_bfloat16(const float* s, int64_t n, float scale, BFloat16* p) {
  constexpr float kLog2E = 1.44269504F;
  return powers_of_scores({s, n, scale * kLog2E}, p, [](Vec x) { return short_exp2(x); });
}

// Transposes squares of 16 x 16 words in registers.
void transpose(const WordRows& rows, int64_t columns, uint32_t* to) {
  constexpr int64_t kWordBytes = sizeof(uint32_t);
  for (int64_t word = 0; word < rows.width; word += kLanes, to += kLanes * columns) {
    const int64_t width = rows.width - word < kLanes ? rows.width - word : kLanes;
    UintVec v[kLanes] = {};
    for (int64_t j = 0; j < rows.count; ++j) {
      const std::byte* from = rows.first + j * rows.stride + word * kWordBytes;
      if (width == kLanes) {
        v[j] = load_raw<UintVec>(from);
      } else {
        __builtin_memcpy(&v[j], from, static_cast<uint64_t>(width * kWordBytes));
      }
    }
    transpose_words(v);
    for (int64_t i = 0; i < width; ++i) store_raw(v[i], to + i * columns);
  }
}

void interleave(const BFloat16* a, const BFloat16* b, int64_t n, BFloat16* out) {
  using ShortVecs = uint16_t __attribute__((vector_size(64)));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const ShortVecs both = __builtin_shufflevector(
        load_raw<ShortVec>(a + i), b ? load_raw<ShortVec>(b + i) : ShortVec{}, 0, 16, 1, 17, 2, 18,
        3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
        31);
    store_raw(both, out + 2 * i);
  }
  for (; i < n; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b ? b[i] : BFloat16{};
  }
}

template <typename T>
void widen_row(const T* in, int64_t n, float* out) {
  for_groups(
      n, [&](int64_t i) { store(load(in + i), out + i); },
      [&](int64_t i, int64_t size) { store_part(load_part(in + i, size), out + i, size); });
}

template <typename T>
void scale_row(const float* in, int64_t n, float factor, T* out) {
  for_groups(
      n, [&](int64_t i) { store(load(in + i) * factor, out + i); },
      [&](int64_t i, int64_t size) {
        store_part(load_part(in + i, size) * factor, out + i, size);
      });
}

// The kernel computes the variance as the mean of squared differences from the mean, in a second
// pass over the row. This loses fewer bits than the mean of squares minus the square of the mean.
template <typename T>
void layer_norm(const NormRow<T>& row) {
  Vec total = {};
  for_groups(
      row.n, [&](int64_t i) { total += load(row.x + i); },
      [&](int64_t i, int64_t size) { total += load_part(row.x + i, size); });
  const float mean = sum(total) / static_cast<float>(row.n);
  Vec squares = {};
  const auto square = [mean](Vec x) {
    const Vec centred = x - mean;
    return centred * centred;
  };
  for_groups(
      row.n, [&](int64_t i) { squares += square(load(row.x + i)); },
      [&](int64_t i, int64_t size) {
        squares += keep_first(square(load_part(row.x + i, size)), size, 0);
      });
  const float variance = sum(squares) / static_cast<float>(row.n);
  const float scale = 1.0F / __builtin_sqrtf(variance + row.eps);
  const auto normed = [mean, scale](Vec x, Vec weight, Vec bias) {
    return (x - mean) * scale * weight + bias;
  };
  for_groups(
      row.n,
      [&](int64_t i) {
        const Vec bias = row.bias ? load(row.bias + i) : Vec{};
        store(normed(load(row.x + i), load(row.weight + i), bias), row.y + i);
      },
      [&](int64_t i, int64_t size) {
        const Vec bias = row.bias ? load_part(row.bias + i, size) : Vec{};
        store_part(normed(load_part(row.x + i, size), load_part(row.weight + i, size), bias),
                   row.y + i, size);
      });
}

// Rounds each lane to T.
template <typename T>
inline Vec rounded(Vec x) {
  T bits[kLanes];
  store(x, bits);
  return load(bits);
}

template <typename T>
void rms_norm(const NormRow<T>& row) {
  Vec squares = {};
  const auto add_square = [&squares](Vec x) { squares += x * x; };
  for_groups(
      row.n, [&](int64_t i) { add_square(load(row.x + i)); },
      [&](int64_t i, int64_t size) { add_square(load_part(row.x + i, size)); });
  const float scale = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(row.n) + row.eps);
  for_groups(
      row.n,
      [&](int64_t i) {
        store(load(row.weight + i) * rounded<T>(load(row.x + i) * scale), row.y + i);
      },
      [&](int64_t i, int64_t size) {
        const Vec normed = rounded<T>(load_part(row.x + i, size) * scale);
        store_part(load_part(row.weight + i, size) * normed, row.y + i, size);
      });
}

// The first product of each sum is fused with the addition. With `a * cos - b * sin` GCC would fuse
// the second product on ARM, because ARM has no instruction that subtracts a number from a product.
// The result would then have other bits than on x86-64.
template <typename T>
void rotary(const RotaryHead<T>& head) {
  T* first = head.head;
  T* second = head.head + head.half;
  for_groups(
      head.half,
      [&](int64_t i) {
        const Vec a = load(first + i);
        const Vec b = load(second + i);
        const Vec cos = load(head.cos + i);
        const Vec sin = load(head.sin + i);
        store(a * cos + b * -sin, first + i);
        store(b * cos + a * sin, second + i);
      },
      [&](int64_t i, int64_t size) {
        const Vec a = load_part(first + i, size);
        const Vec b = load_part(second + i, size);
        const Vec cos = load_part(head.cos + i, size);
        const Vec sin = load_part(head.sin + i, size);
        store_part(a * cos + b * -sin, first + i, size);
        store_part(b * cos + a * sin, second + i, size);
      });
}

// Returns the sum of term(a[i], b[i]) over i in [0, n).
template <typename Term>
inline float sum_of_terms(const float* a, const float* b, int64_t n, const Term& term) {
  Vec total = {};
  for_groups(
      n, [&](int64_t i) { total += term(load(a + i), load(b + i)); },
      [&](int64_t i, int64_t size) {
        total += term(load_part(a + i, size), load_part(b + i, size));
      });
  return sum(total);
}

float dot(const float* a, const float* b, int64_t n) {
  return sum_of_terms(a, b, n, [](Vec x, Vec y) { return x * y; });
}

float squared_distance(const float* a, const float* b, int64_t n) {
  return sum_of_terms(a, b, n, [](Vec x, Vec y) {
    const Vec difference = x - y;
    return difference * difference;
  });
}

float absolute_distance(const float* a, const float* b, int64_t n) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFFU;
  return sum_of_terms(a, b, n, [](Vec x, Vec y) { return from_bits(bits_of(x - y) & kMagnitude); });
}

// The compiler turns this loop into vector instructions. For __builtin_convertvector of bytes, GCC
// 12 would emit an instruction for each element.
template <typename Byte>
void widen_bytes(const Byte* in, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

#ifdef __AVX512BF16__
// A pair of bfloat16 numbers is one word, so there are half as many words in a row.
void multiply_pairs(const Product& product, const BFloat16* a, const BFloat16* b, float* c) {
  Product words = product;
  words.k /= 2;
  words.lda /= 2;
  multiply_words<BFloat16Words>(words, reinterpret_cast<const float*>(a),
                                reinterpret_cast<const float*>(b), c);
}
constexpr auto kMultiplyPairs = multiply_pairs;
#else
constexpr auto kMultiplyPairs = nullptr;
#endif

#ifdef ENCODE_VECTOR_LINEAR
constexpr const VectorLinears* kLinears = &vector_linears;
#else
constexpr const VectorLinears* kLinears = nullptr;
#endif

template <typename T>
constexpr RowKernels<T> row_kernels() {
  return {.widen = widen_row<T>,
          .scale = scale_row<T>,
          .layer_norm = layer_norm<T>,
          .rms_norm = rms_norm<T>,
          .rotary = rotary<T>};
}

constexpr Kernels kTable = {.instruction_set = ENCODE_ISA_NAME,
                            .flushes_subnormal_bfloat16 = kFlushesSubnormalBFloat16,
                            .exp_scores = exp_scores,
                            .exp_scores_bfloat16 = exp_scores_bfloat16,
                            .transpose = transpose,
                            .interleave = interleave,
                            .multiply = multiply_words<Float32Words>,
                            .multiply_pairs = kMultiplyPairs,
                            .dot = dot,
                            .squared_distance = squared_distance,
                            .absolute_distance = absolute_distance,
                            .widen_int8 = widen_bytes<int8_t>,
                            .widen_uint8 = widen_bytes<uint8_t>,
                            .linears = kLinears,
                            .float32 = row_kernels<float>(),
                            .bfloat16 = row_kernels<BFloat16>(),
                            .float16 = row_kernels<Float16>()};

}  // namespace

const Kernels& table();
const Kernels& table() { return kTable; }

}  // namespace encode::kernels::ENCODE_ISA
