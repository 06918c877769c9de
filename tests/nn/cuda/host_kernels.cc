#include "host_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "host_numbers.h"

namespace encode::testing {
namespace {

struct Weights {
  const void* weight;
  const void* bias;
  EncodeCudaType type;
  float eps;
};

void normalize(std::vector<double>& row, bool centered, const Weights& weights) {
  const auto n = static_cast<double>(row.size());
  double mean = 0;
  double squares = 0;
  for (const double x : row) mean += centered ? x / n : 0;
  for (const double x : row) squares += (x - mean) * (x - mean);
  const double scale = 1 / std::sqrt(squares / n + weights.eps);
  for (size_t i = 0; i < row.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    row[i] = (row[i] - mean) * scale * read(weights.weight, weights.type, index);
    if (weights.bias != nullptr) row[i] += read(weights.bias, weights.type, index);
  }
}

// Quantizes rows. The caller must have rounded them to the type of the kernel.
struct Quantizer {
  EncodeCudaFp8Rows to;
  int64_t width;

  void row(int64_t r, const std::vector<float>& row) const {
    float largest = 0x1p-100F;
    for (const float x : row)
      if (!(std::abs(x) <= largest) && std::isfinite(largest)) largest = std::abs(x);
    to.scale[r] = largest / 448;
    for (size_t i = 0; i < row.size(); ++i)
      static_cast<uint8_t*>(to.values)[r * width + static_cast<int64_t>(i)] =
          nearest_e4m3(row[i] * (448 / largest));
  }
};

float rounded(float x, EncodeCudaType type) {
  float bytes = 0;
  write(&bytes, type, 0, x);
  return read(&bytes, type, 0);
}

int norm(const EncodeCudaNorm& a, bool centered) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const int64_t begin = r / a.inner_rows * a.outer_stride + r % a.inner_rows * a.inner_stride;
    std::vector<double> row;
    for (int64_t i = begin; i < begin + a.width; ++i) {
      const float x = read(a.x, a.type, i);
      const float residual = a.residual != nullptr ? read(a.residual, a.type, i) : 0;
      row.push_back(rounded(x + residual, a.type));
      if (a.sum != nullptr) write(a.sum, a.type, i, x + residual);
    }
    normalize(row, centered, {a.weight, a.bias, a.weight_type, a.eps});
    std::vector<float> y;
    for (const double value : row) y.push_back(rounded(static_cast<float>(value), a.type));
    for (int64_t i = 0; a.y != nullptr && i < a.width; ++i)
      write(a.y, a.type, begin + i, y[static_cast<size_t>(i)]);
    if (a.fp8.values != nullptr) Quantizer{a.fp8, a.width}.row(r, y);
  }
  return 0;
}

int rotary(const EncodeCudaRotary* a) {
  const int64_t half = a->head_dim / 2;
  for (int64_t t = 0; t < a->tokens; ++t) {
    for (int64_t h = 0; h < a->heads; ++h) {
      for (int64_t i = 0; i < half; ++i) {
        const int64_t at = t * a->token_stride + h * a->head_dim + i;
        const float first = read(a->qkv, a->type, at);
        const float second = read(a->qkv, a->type, at + half);
        const float cos = a->cos[t * half + i];
        const float sin = a->sin[t * half + i];
        write(a->qkv, a->type, at, first * cos - second * sin);
        write(a->qkv, a->type, at + half, second * cos + first * sin);
      }
    }
  }
  return 0;
}

double activated(double x, EncodeCudaActivation activation) {
  switch (activation) {
    case kEncodeCudaGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case kEncodeCudaGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case kEncodeCudaRelu:
      return std::max(x, 0.0);
    case kEncodeCudaSilu:
      break;
  }
  return x / (1 + std::exp(-x));
}

int elementwise(const EncodeCudaElementwise& a, bool gated) {
  for (int64_t t = 0; t < a.rows; ++t) {
    std::vector<float> y;
    for (int64_t i = 0; i < a.width; ++i) {
      const int64_t in = t * a.width * (gated ? 2 : 1) + i;
      const double up = gated ? read(a.x, a.type, in + a.width) : 1.0;
      y.push_back(
          rounded(static_cast<float>(activated(read(a.x, a.type, in), a.activation) * up), a.type));
    }
    if (a.fp8.values != nullptr) {
      Quantizer{a.fp8, a.width}.row(t, y);
      continue;
    }
    for (int64_t i = 0; i < a.width; ++i)
      write(a.y, a.type, t * a.width + i, y[static_cast<size_t>(i)]);
  }
  return 0;
}

int embedding(const EncodeCudaEmbedding* a) {
  for (int64_t t = 0; t < a->tokens; ++t) {
    std::vector<double> row;
    for (int64_t i = 0; i < a->width; ++i) {
      double sum = read(a->words, a->type, a->ids[t] * a->width + i);
      if (a->segment != nullptr) sum += read(a->segment, a->type, i);
      if (a->positions != nullptr)
        sum += read(a->positions, a->type, a->position_ids[t] * a->width + i);
      row.push_back(sum);
    }
    if (a->weight != nullptr) normalize(row, true, {a->weight, a->bias, a->type, a->eps});
    for (int64_t i = 0; i < a->width; ++i)
      write(a->y, a->type, t * a->width + i, static_cast<float>(row[static_cast<size_t>(i)]));
  }
  return 0;
}

// Pools one column of a sequence of n tokens. The first `skipped` tokens are the prompt. value(t)
// is the number of token t in this column.
template <typename Value>
double pooled(PoolingMode mode, int64_t n, int64_t skipped, const Value& value) {
  if (mode == PoolingMode::kCls) return value(std::min(skipped, n - 1));
  if (mode == PoolingMode::kLastToken) return value(n - 1);
  double sum = 0;
  double weights = 0;
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t t = skipped; t < n; ++t) {
    const double weight = mode == PoolingMode::kWeightedMean ? static_cast<double>(t + 1) : 1.0;
    sum += weight * value(t);
    weights += weight;
    top = std::max(top, value(t));
  }
  if (n == skipped) return 0;
  if (mode == PoolingMode::kMax) return top;
  return mode == PoolingMode::kMeanSqrtLen ? sum / std::sqrt(weights) : sum / weights;
}

int pool(const EncodeCudaPool* a) {
  for (int64_t b = 0; b < a->sequences; ++b) {
    const int64_t begin = a->cu_seqlens[b];
    const int64_t n = a->cu_seqlens[b + 1] - begin;
    for (int64_t i = 0; i < a->width; ++i) {
      const auto value = [&](int64_t t) -> double {
        return read(a->hidden, a->type, (begin + t) * a->width + i);
      };
      a->y[b * a->y_stride + i] =
          static_cast<float>(pooled(a->mode, n, std::min(a->prompt_tokens, n), value));
    }
  }
  return 0;
}

int quantize_rows(const EncodeCudaQuantize* a) {
  for (int64_t r = 0; r < a->rows; ++r) {
    std::vector<float> row;
    for (int64_t i = 0; i < a->width; ++i) row.push_back(read(a->x, a->type, r * a->width + i));
    Quantizer{a->y, a->width}.row(r, row);
  }
  return 0;
}

}  // namespace

double e4m3_value(uint8_t bits) {
  const int exponent = bits >> 3U & 15U;
  const int fraction = bits & 7U;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (bits & 128U) != 0 ? -magnitude : magnitude;
}

uint8_t nearest_e4m3(double x) {
  static const std::vector<double> magnitudes = [] {
    std::vector<double> values;
    for (uint8_t bits = 0; bits <= 0x7e; ++bits) values.push_back(e4m3_value(bits));
    return values;
  }();
  const double magnitude = std::abs(x);
  const auto above = std::upper_bound(magnitudes.begin(), magnitudes.end(), magnitude);
  auto bits = static_cast<uint8_t>(above - magnitudes.begin() - 1);
  if (above != magnitudes.end()) {
    const double to_below = magnitude - *(above - 1);
    const double to_above = *above - magnitude;
    if (to_above < to_below || (to_above == to_below && bits % 2 != 0)) ++bits;
  }
  return x < 0 ? bits | 128U : bits;
}

EncodeCudaKernels host_kernels() {
  return {.layer_norm = [](const EncodeCudaNorm* a) { return norm(*a, /*centered=*/true); },
          .rms_norm = [](const EncodeCudaNorm* a) { return norm(*a, /*centered=*/false); },
          .rotary = rotary,
          .activation = [](const EncodeCudaElementwise* a) { return elementwise(*a, false); },
          .gated = [](const EncodeCudaElementwise* a) { return elementwise(*a, true); },
          .embedding = embedding,
          .pool = pool,
          .quantize_rows = quantize_rows,
          .attention = host_attention,
          .short_attention = host_short_attention};
}

}  // namespace encode::testing
