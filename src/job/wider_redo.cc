#include "job/wider_redo.h"

#include <algorithm>
#include <utility>

#include "base/non_finite.h"
#include "batching/repack.h"

namespace encode {
namespace {

std::vector<PackedBatch> batches_of(const WiderRedo::Request& request) {
  std::set<int64_t> numbers;
  for (const PackedSequence& sequence : request.sequences) numbers.insert(sequence.number);
  return repack(request.batches, request.batch_tokens,
                [&numbers](int64_t number) { return !numbers.contains(number); });
}

// Renumbers the sequences and the vectors of the batches from 0, without gaps. Returns zeros for
// the vectors.
WindowValues number_from_0(std::vector<PackedBatch>& batches, int64_t dim) {
  int64_t sequences = 0;
  int64_t vectors = 0;
  for (PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      batch.sequence_numbers[b] = sequences++;
      batch.first_vectors[b] = vectors;
      vectors += batch.vectors[b];
    }
  }
  return {.dim = dim, .floats = std::vector<float>(static_cast<size_t>(vectors * dim))};
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

WiderRedo::Outcome WiderRedo::run(const Request& request, WindowValues& values,
                                  const Encoder::OnBatch& done) {
  if (!can_widen_ || request.sequences.empty()) return {};
  Outcome outcome;
  if (!wide_) {
    LoadedEncoder loaded = load_encoder(directory_, effective_, options_);
    wide_ = std::move(loaded.encoder);
    outcome.notes = std::move(loaded.notes);
  }
  std::vector<PackedBatch> again = batches_of(request);
  const std::vector<PackedSequence> narrow = packed_sequences(again);
  WindowValues wider = number_from_0(again, values.dim);
  const std::vector<PackedSequence> wide = packed_sequences(again);
  outcome.finished = wide_->encode(again, wider.floats, done);
  if (!outcome.finished) return outcome;
  for (size_t i = 0; i < wide.size(); ++i) {
    const std::span<const float> vector = wider.of(wide[i]);
    if (find_non_finite(vector)) continue;
    std::copy(vector.begin(), vector.end(), values.of(narrow[i]).begin());
    outcome.redone.insert(narrow[i].number);
  }
  return outcome;
}

}  // namespace encode
