#include "batching/repack.h"

#include "encode/tokenizer.h"

#include "batching/pack.h"

namespace encode {
namespace {

// The sequences of some batches, as rows of a window that has no other rows.
struct Sequences {
  TokenizedRows ids;
  std::vector<int64_t> rows;           // PackedBatch::rows of each sequence
  std::vector<int64_t> token_offsets;  // PackedBatch::token_offsets of each sequence
  std::vector<int32_t> type_ids;       // of `ids`; empty if all are 0
  int32_t prompt_tokens = 0;
};

Sequences gather(std::span<const PackedBatch> batches,
                 const std::function<bool(int64_t)>& leave_out) {
  Sequences found;
  for (const PackedBatch& batch : batches) {
    found.prompt_tokens = batch.prompt_tokens;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      if (leave_out(batch.rows[b])) continue;
      found.ids.ids.insert(found.ids.ids.end(), batch.input_ids.begin() + batch.cu_seqlens[b],
                           batch.input_ids.begin() + batch.cu_seqlens[b + 1]);
      if (!batch.type_ids.empty()) {
        found.type_ids.insert(found.type_ids.end(), batch.type_ids.begin() + batch.cu_seqlens[b],
                              batch.type_ids.begin() + batch.cu_seqlens[b + 1]);
      }
      found.ids.offsets.push_back(static_cast<int64_t>(found.ids.ids.size()));
      found.ids.lost_tokens.push_back(0);
      found.rows.push_back(batch.rows[b]);
      found.token_offsets.push_back(batch.token_offsets[b]);
    }
  }
  return found;
}

// pack() has numbered the sequences from 0. This gives them their rows and offsets back.
void renumber(std::vector<PackedBatch>& batches, const Sequences& sequences) {
  for (PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const auto sequence = static_cast<size_t>(batch.rows[b]);
      batch.rows[b] = sequences.rows[sequence];
      batch.token_offsets[b] = sequences.token_offsets[sequence];
    }
  }
}

}  // namespace

std::vector<PackedBatch> repack(std::span<const PackedBatch> batches, int64_t capacity_tokens,
                                const std::function<bool(int64_t)>& leave_out) {
  const Sequences sequences = gather(batches, leave_out);
  std::vector<PackedBatch> packed = pack(sequences.ids, capacity_tokens, sequences.prompt_tokens);
  set_type_ids(packed, sequences.ids, sequences.type_ids);
  renumber(packed, sequences);
  return packed;
}

std::vector<PackedBatch> one_by_one(std::span<const PackedBatch> batches,
                                    const std::function<bool(int64_t)>& leave_out) {
  // With a capacity of one token, no two sequences fit into one batch.
  return repack(batches, 1, leave_out);
}

}  // namespace encode
