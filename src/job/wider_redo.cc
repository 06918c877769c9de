#include "job/wider_redo.h"

#include <algorithm>
#include <utility>

#include "encode/tokenizer.h"

#include "base/non_finite.h"
#include "batching/pack.h"

namespace encode {
namespace {

bool is_finite(std::span<const float> values) { return !find_non_finite(values); }

// Where a sequence's values are.
struct Slice {
  size_t begin;
  size_t size;

  template <typename T>
  std::span<T> of(std::span<T> values) const {
    return values.subspan(begin, size);
  }
};

Slice slice_of(const PackedBatch& batch, size_t sequence, const Encoder& encoder) {
  const auto dim = static_cast<size_t>(encoder.dim());
  if (!encoder.token_embeddings())
    return {.begin = static_cast<size_t>(batch.rows[sequence]) * dim, .size = dim};
  const auto tokens =
      static_cast<size_t>(batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence]);
  return {.begin = static_cast<size_t>(batch.token_offsets[sequence]) * dim, .size = tokens * dim};
}

struct Sequences {
  std::vector<Slice> slices;  // of the values, in the order of `ids`
  std::vector<int64_t> rows;  // in the same order
  TokenizedRows ids;
  int32_t prompt_tokens = 0;
  size_t size = 0;  // values of all of them
};

Sequences not_finite(std::span<const PackedBatch> batches, const Encoder& encoder,
                     std::span<const float> values) {
  Sequences found;
  for (const PackedBatch& batch : batches) {
    found.prompt_tokens = batch.prompt_tokens;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const Slice slice = slice_of(batch, b, encoder);
      if (is_finite(slice.of(values))) continue;
      found.slices.push_back(slice);
      found.rows.push_back(batch.rows[b]);
      found.size += slice.size;
      found.ids.ids.insert(found.ids.ids.end(), batch.input_ids.begin() + batch.cu_seqlens[b],
                           batch.input_ids.begin() + batch.cu_seqlens[b + 1]);
      found.ids.offsets.push_back(static_cast<int64_t>(found.ids.ids.size()));
      found.ids.lost_tokens.push_back(0);
    }
  }
  return found;
}

}  // namespace

WiderRedo::WiderRedo(EncoderOptions narrow)
    : options_(std::move(narrow)), can_widen_(options_.result.dtype != ComputeType::kFloat32) {
  options_.result.dtype = ComputeType::kFloat32;
}

WiderRedo::Outcome WiderRedo::run(std::span<const PackedBatch> batches, const Encoder& narrow,
                                  std::span<float> values, const Encoder::BatchDone& done) {
  if (!can_widen_ || is_finite(values)) return {};
  const Sequences again = not_finite(batches, narrow, values);
  if (!wide_) wide_ = load_encoder(options_);
  std::vector<float> wider(again.size);
  const auto packed = pack(again.ids, wide_->batch_tokens(), again.prompt_tokens);
  if (!wide_->encode(packed, wider, done)) return {.finished = false, .redone = {}};
  Outcome outcome;
  size_t at = 0;
  for (size_t i = 0; i < again.slices.size(); ++i) {
    const Slice& slice = again.slices[i];
    const std::span<const float> vector = std::span<const float>(wider).subspan(at, slice.size);
    at += slice.size;
    if (!is_finite(vector)) continue;
    std::copy(vector.begin(), vector.end(), slice.of(values).begin());
    outcome.redone.push_back(again.rows[i]);
  }
  return outcome;
}

}  // namespace encode
