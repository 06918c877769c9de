#include "batching/repack.h"

#include "batching/pack.h"
#include "batching/sequences.h"

namespace encode {
namespace {

// The sequences of some batches, numbered from 0.
struct Gathered {
  Sequences sequences;
  std::vector<int64_t> numbers;        // PackedBatch::sequence_numbers of each sequence
  std::vector<int64_t> first_vectors;  // PackedBatch::first_vectors of each sequence
};

void append_tokens(const PackedBatch& batch, size_t b, Sequences& sequences) {
  const auto begin = batch.cu_seqlens[b];
  const auto end = batch.cu_seqlens[b + 1];
  TokenizedRows& ids = sequences.ids;
  ids.ids.insert(ids.ids.end(), batch.input_ids.begin() + begin, batch.input_ids.begin() + end);
  if (!batch.type_ids.empty()) {
    sequences.type_ids.insert(sequences.type_ids.end(), batch.type_ids.begin() + begin,
                              batch.type_ids.begin() + end);
  }
  ids.end_row();
}

Gathered gather(std::span<const PackedBatch> batches,
                const std::function<bool(int64_t)>& leave_out) {
  Gathered found;
  SequenceVectors& vectors = found.sequences.vectors;
  vectors.offsets.push_back(0);
  for (const PackedBatch& batch : batches) {
    found.sequences.prompt_tokens = batch.prompt_tokens;
    auto spans = batch.spans.begin();
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto own = spans;
      if (!batch.spans.empty()) spans += batch.vectors[b];
      if (leave_out(batch.sequence_numbers[b])) continue;
      append_tokens(batch, b, found.sequences);
      vectors.offsets.push_back(vectors.offsets.back() + batch.vectors[b]);
      vectors.spans.insert(vectors.spans.end(), own, spans);
      found.numbers.push_back(batch.sequence_numbers[b]);
      found.first_vectors.push_back(batch.first_vectors[b]);
    }
  }
  return found;
}

// pack() has numbered the sequences and their vectors from 0. This gives them their numbers back.
void renumber(std::vector<PackedBatch>& batches, const Gathered& gathered) {
  for (PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto sequence = static_cast<size_t>(batch.sequence_numbers[b]);
      batch.sequence_numbers[b] = gathered.numbers[sequence];
      batch.first_vectors[b] = gathered.first_vectors[sequence];
    }
  }
}

}  // namespace

std::vector<PackedBatch> repack(std::span<const PackedBatch> batches, int64_t capacity_tokens,
                                const std::function<bool(int64_t)>& leave_out) {
  const Gathered gathered = gather(batches, leave_out);
  std::vector<PackedBatch> packed = pack(gathered.sequences, capacity_tokens);
  renumber(packed, gathered);
  return packed;
}

std::vector<PackedBatch> one_by_one(std::span<const PackedBatch> batches,
                                    const std::function<bool(int64_t)>& leave_out) {
  // With a capacity of one token, no two sequences fit into one batch.
  return repack(batches, 1, leave_out);
}

}  // namespace encode
