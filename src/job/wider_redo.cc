#include "job/wider_redo.h"

#include <algorithm>
#include <utility>

#include "encode/tokenizer.h"

#include "batching/pack.h"
#include "store/matrix_file.h"

namespace encode {
namespace {

bool is_finite(std::span<const float> values, int64_t row, int64_t dim) {
  return !find_non_finite(values.subspan(static_cast<size_t>(row * dim), static_cast<size_t>(dim)));
}

struct Sequences {
  std::vector<int64_t> rows;  // window rows, in the order of `ids`
  TokenizedRows ids;
  int32_t prompt_tokens = 0;
};

Sequences not_finite(std::span<const PackedBatch> batches, int64_t dim,
                     std::span<const float> values) {
  Sequences found;
  for (const PackedBatch& batch : batches) {
    found.prompt_tokens = batch.prompt_tokens;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      if (is_finite(values, batch.rows[b], dim)) continue;
      found.rows.push_back(batch.rows[b]);
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

WiderRedo::Outcome WiderRedo::run(std::span<const PackedBatch> batches, int64_t dim,
                                  std::span<float> values, const Encoder::BatchDone& done) {
  if (!can_widen_ || !find_non_finite(values)) return {};
  const Sequences again = not_finite(batches, dim, values);
  if (!wide_) wide_ = load_encoder(options_);
  std::vector<float> wider(again.rows.size() * static_cast<size_t>(dim));
  const auto packed = pack(again.ids, wide_->batch_tokens(), again.prompt_tokens);
  if (!wide_->encode(packed, wider, done)) return {.finished = false, .redone = 0};
  Outcome outcome;
  for (size_t i = 0; i < again.rows.size(); ++i) {
    if (!is_finite(wider, static_cast<int64_t>(i), dim)) continue;
    std::copy_n(wider.data() + static_cast<int64_t>(i) * dim, dim,
                values.data() + again.rows[i] * dim);
    ++outcome.redone;
  }
  return outcome;
}

}  // namespace encode
