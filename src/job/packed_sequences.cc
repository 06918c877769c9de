#include "job/packed_sequences.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace encode {

std::vector<PackedSequence> packed_sequences(std::span<const PackedBatch> batches) {
  std::vector<PackedSequence> sequences;
  for (const PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      sequences.push_back({.number = batch.sequence_numbers[b],
                           .tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b],
                           .first_vector = batch.first_vectors[b],
                           .vectors = batch.vectors[b]});
    }
  }
  return sequences;
}

std::vector<PackedSequence> without(std::vector<PackedSequence> sequences,
                                    std::span<const FailedSequence> failed) {
  if (failed.empty()) return sequences;
  const std::set<int64_t> numbers = numbers_of(failed);
  std::erase_if(sequences, [&numbers](const PackedSequence& sequence) {
    return numbers.contains(sequence.number);
  });
  return sequences;
}

std::set<int64_t> numbers_of(std::span<const FailedSequence> failed) {
  std::set<int64_t> numbers;
  for (const FailedSequence& sequence : failed) numbers.insert(sequence.place.number);
  return numbers;
}

std::vector<FailedSequence> with_duplicates(std::vector<FailedSequence> failed,
                                            std::span<const DuplicateSequence> duplicates) {
  std::map<int64_t, size_t> places;  // the number of a sequence -> where it is in `failed`
  for (size_t i = 0; i < failed.size(); ++i) places[failed[i].place.number] = i;
  for (const DuplicateSequence& duplicate : duplicates) {
    const auto first = places.find(duplicate.first);
    if (first == places.end()) continue;
    FailedSequence sequence = failed[first->second];
    sequence.place = {.number = duplicate.number,
                      .tokens = duplicate.tokens,
                      .first_vector = duplicate.first_vector,
                      .vectors = duplicate.vectors};
    failed.push_back(std::move(sequence));
  }
  std::sort(failed.begin(), failed.end(), [](const FailedSequence& a, const FailedSequence& b) {
    return a.place.number < b.place.number;
  });
  return failed;
}

std::span<const float> WindowValues::of(const PackedSequence& sequence) const {
  return std::span(floats).subspan(static_cast<size_t>(sequence.first_vector * dim),
                                   static_cast<size_t>(sequence.vectors * dim));
}

std::span<float> WindowValues::of(const PackedSequence& sequence) {
  const std::span<const float> part = std::as_const(*this).of(sequence);
  return std::span(floats).subspan(static_cast<size_t>(part.data() - floats.data()), part.size());
}

}  // namespace encode
