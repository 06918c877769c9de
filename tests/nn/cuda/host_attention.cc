// A slow attention kernel on the CPU that follows the definition in plugin.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "host_kernels.h"
#include "host_numbers.h"

namespace encode::testing {
namespace {

struct Pair {
  int64_t query;  // the numbers of two tokens in the batch
  int64_t key;
  int64_t head;
};

double dot(const EncodeCudaAttention& a, const Pair& pair) {
  const int64_t key_head = pair.head / (a.heads / a.key_heads);
  double sum = 0;
  for (int64_t d = 0; d < a.head_dim; ++d) {
    sum += static_cast<double>(
               read(a.query, a.type, pair.query * a.query_stride + pair.head * a.head_dim + d)) *
           read(a.key, a.type, pair.key * a.key_stride + key_head * a.head_dim + d);
  }
  return sum;
}

// Returns the score, or -infinity if the query does not see the key.
double score_of(const EncodeCudaAttention& a, const Pair& pair) {
  const int64_t distance = pair.key - pair.query;
  if ((a.left >= 0 && distance < -a.left) || (a.right >= 0 && distance > a.right))
    return -std::numeric_limits<double>::infinity();
  double score = dot(a, pair);
  const int64_t column =
      a.column != nullptr ? a.column[std::clamp(distance, -a.reach, a.reach) + a.reach] : 0;
  const auto of_token = [&](const void* table, int64_t token) {
    return read(table, a.type, (token * a.heads + pair.head) * a.columns + column);
  };
  if (a.of_query != nullptr) score += of_token(a.of_query, pair.query);
  if (a.of_key != nullptr) score += of_token(a.of_key, pair.key);
  score *= a.scale;
  if (a.softcap > 0) score = std::tanh(score / a.softcap) * a.softcap;
  if (a.bias != nullptr) score += a.bias[pair.head * a.columns + column];
  return score;
}

void attend(const EncodeCudaAttention& a, int64_t begin, int64_t end, int64_t query, int64_t head) {
  std::vector<double> weights;
  for (int64_t key = begin; key < end; ++key)
    weights.push_back(score_of(a, {.query = query, .key = key, .head = head}));
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  const int64_t key_head = head / (a.heads / a.key_heads);
  for (int64_t d = 0; d < a.head_dim; ++d) {
    double value = 0;
    for (int64_t key = begin; key < end; ++key) {
      value += weights[static_cast<size_t>(key - begin)] *
               read(a.value, a.type, key * a.value_stride + key_head * a.head_dim + d);
    }
    write(a.y, a.type, (query * a.heads + head) * a.head_dim + d, static_cast<float>(value / sum));
  }
}

// Computes the sequences of at most `most_tokens` tokens.
int attend_up_to(const EncodeCudaAttention& a, int64_t most_tokens) {
  for (int64_t b = 0; b < a.sequences; ++b) {
    const int64_t begin = a.cu_seqlens[b];
    const int64_t end = a.cu_seqlens[b + 1];
    if (end - begin > most_tokens) continue;
    for (int64_t query = begin; query < end; ++query)
      for (int64_t head = 0; head < a.heads; ++head) attend(a, begin, end, query, head);
  }
  return 0;
}

}  // namespace

int host_attention(const EncodeCudaAttention* a) {
  return attend_up_to(*a, std::numeric_limits<int64_t>::max());
}

int host_short_attention(const EncodeCudaAttention* a) {
  if (a->type == kEncodeCudaFloat32) return kEncodeCudaUnsupported;
  return attend_up_to(*a, encode_cuda_short_tokens(a->head_dim));
}

}  // namespace encode::testing
