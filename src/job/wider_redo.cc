#include "job/wider_redo.h"

#include <algorithm>
#include <utility>

#include "encode/tokenizer.h"

#include "base/non_finite.h"
#include "batching/pack.h"
#include "job/row_slice.h"

namespace encode {
namespace {

bool is_finite(std::span<const float> values) { return !find_non_finite(values); }

struct Sequences {
  TokenizedRows ids;
  std::vector<RowSlice> slices;   // in the order of `ids`
  std::vector<int64_t> rows;      // in the order of `ids`
  std::vector<int32_t> type_ids;  // of `ids`; empty if all are 0
  int32_t prompt_tokens = 0;
  size_t size = 0;  // the sum of the slices' sizes
};

Sequences not_finite(std::span<const PackedBatch> batches, const Encoder& encoder,
                     std::span<const float> values) {
  Sequences found;
  for (const PackedBatch& batch : batches) {
    found.prompt_tokens = batch.prompt_tokens;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const int64_t tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
      const RowSlice slice = slice_of(encoder, batch.rows[b], batch.token_offsets[b], tokens);
      if (is_finite(slice.of(values))) continue;
      found.slices.push_back(slice);
      found.rows.push_back(batch.rows[b]);
      found.size += slice.size;
      found.ids.ids.insert(found.ids.ids.end(), batch.input_ids.begin() + batch.cu_seqlens[b],
                           batch.input_ids.begin() + batch.cu_seqlens[b + 1]);
      if (!batch.type_ids.empty()) {
        found.type_ids.insert(found.type_ids.end(), batch.type_ids.begin() + batch.cu_seqlens[b],
                              batch.type_ids.begin() + batch.cu_seqlens[b + 1]);
      }
      found.ids.offsets.push_back(static_cast<int64_t>(found.ids.ids.size()));
      found.ids.lost_tokens.push_back(0);
    }
  }
  return found;
}

}  // namespace

WiderRedo::WiderRedo(const ModelDirectory& directory, EffectiveResult narrow,
                     EncoderOptions options)
    : directory_(directory),
      effective_(std::move(narrow)),
      options_(std::move(options)),
      can_widen_(effective_.dtype != ComputeType::kFloat32) {
  effective_.dtype = ComputeType::kFloat32;
}

WiderRedo::Outcome WiderRedo::run(const EncodedBatches& encoded, const Encoder& narrow,
                                  const Encoder::OnBatch& done) {
  const std::span<float> values = encoded.values;
  if (!can_widen_ || is_finite(values)) return {};
  const Sequences again = not_finite(encoded.batches, narrow, values);
  Outcome outcome;
  if (!wide_) {
    LoadedEncoder loaded = load_encoder(directory_, effective_, options_);
    wide_ = std::move(loaded.encoder);
    outcome.notes = std::move(loaded.notes);
  }
  std::vector<float> wider(again.size);
  std::vector<PackedBatch> batches = pack(again.ids, encoded.batch_tokens, again.prompt_tokens);
  set_type_ids(batches, again.ids, again.type_ids);
  outcome.finished = wide_->encode(batches, wider, done);
  if (!outcome.finished) return outcome;
  size_t at = 0;
  for (size_t i = 0; i < again.slices.size(); ++i) {
    const RowSlice& slice = again.slices[i];
    const std::span<const float> vector = std::span<const float>(wider).subspan(at, slice.size);
    at += slice.size;
    if (!is_finite(vector)) continue;
    std::copy(vector.begin(), vector.end(), slice.of(values).begin());
    outcome.redone.push_back(again.rows[i]);
  }
  return outcome;
}

}  // namespace encode
