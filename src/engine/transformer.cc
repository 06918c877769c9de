#include "engine/transformer.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <string>
#include <vector>

#include <ATen/ops/cat.h>

#include "encode/error.h"

#include "base/vocabulary_limit.h"
#include "nn/layers/pooling.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

std::string place_of(int64_t sequence) {
  return fmt::format("sequence {} of the window", sequence);
}

// Returns how many of the first spans have at most `most_tokens` tokens in all, at least 1. Spans
// overlap, so all of them could have many times the tokens of their batch.
size_t first_spans(std::span<const TokenSpan> spans, int64_t most_tokens) {
  size_t count = 0;
  for (int64_t tokens = 0; count < spans.size(); ++count) {
    tokens += spans[count].end - spans[count].begin;
    if (count > 0 && tokens > most_tokens) break;
  }
  return count;
}

}  // namespace

at::Tensor Transformer::embed(const PackedBatch& batch, int64_t slots) const {
  PackedInput input = to_device(batch, slots, device);
  if (reads_one_token(head.pooling()))
    input.pooled_rows = pooled_rows(input, head.pooling().front(), format);
  const at::Tensor hidden_states = model->forward(input);
  if (batch.spans.empty()) return head(hidden_states, input);
  const std::vector<TokenSpan> spans = slots_of_spans(batch);
  std::vector<at::Tensor> vectors;
  for (std::span<const TokenSpan> rest = spans; !rest.empty();) {
    const size_t count = first_spans(rest, hidden_states.size(0));
    const SpanTokens tokens = span_tokens(hidden_states, rest.first(count));
    vectors.push_back(head(tokens.hidden_states, tokens.input));
    rest = rest.subspan(count);
  }
  return vectors.size() == 1 ? vectors.front() : at::cat(vectors);
}

void check_batch(const PackedBatch& batch, const Transformer& transformer) {
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const int32_t begin = batch.cu_seqlens[b];
    const int32_t end = batch.cu_seqlens[b + 1];
    if (end - begin > transformer.effective.max_length) {
      throw Error({.code = "batch.length",
                   .what = "a sequence is too long for the model",
                   .where = place_of(batch.sequence_numbers[b]),
                   .expected = fmt::format("at most {} tokens", transformer.effective.max_length),
                   .found = fmt::format("{} tokens", end - begin),
                   .hint = "make the ids with the tokenizer of this model, or cut the row"});
    }
    const std::span<const int32_t> ids(&batch.input_ids[static_cast<size_t>(begin)],
                                       static_cast<size_t>(end - begin));
    if (auto error = outside_vocabulary(ids, transformer.vocab_size, IdSource::kInput)) {
      error->where = place_of(batch.sequence_numbers[b]);
      throw Error(*std::move(error));
    }
  }
}

int64_t Transformer::token_slots(int64_t tokens) const {
  if (device.is_cpu()) return cpu_slots(tokens, format);
  const int64_t launch = effective.launch_tokens;
  return (tokens + launch - 1) / launch * launch;
}

void Transformer::scatter(const at::Tensor& embeddings, const PackedBatch& batch,
                          std::span<float> out) const {
  const auto* data = embeddings.const_data_ptr<float>();
  const int64_t dim = effective.dim;
  for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
    const int64_t count = batch.vectors[b] * dim;
    std::copy_n(data, count, out.data() + batch.first_vectors[b] * dim);
    data += count;
  }
}

}  // namespace encode
