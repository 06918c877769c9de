#include "job/sequence_reuse.h"

#include <algorithm>
#include <vector>

namespace encode {

CacheHits WindowCache::find(std::span<const PackedSequence> sequences, WindowValues& values) const {
  if (!on()) return {};
  std::vector<CacheRequest> requests;
  for (const PackedSequence& sequence : sequences)
    requests.push_back(
        {.key = keys_[static_cast<size_t>(sequence.number)], .values = values.of(sequence)});
  cache_.find(requests);
  CacheHits hits;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].found) continue;
    hits.sequences.insert(sequences[i].number);
    hits.tokens += sequences[i].tokens;
    if (requests[i].redone) hits.redone.insert(sequences[i].number);
  }
  return hits;
}

void WindowCache::put(std::span<const PackedSequence> sequences, const std::set<int64_t>& redone,
                      const WindowValues& values) const {
  if (!on()) return;
  for (const PackedSequence& sequence : sequences) {
    cache_.put({.key = keys_[static_cast<size_t>(sequence.number)],
                .values = values.of(sequence),
                .redone = redone.contains(sequence.number)});
  }
}

ReusedSequences copy_duplicates(std::span<const DuplicateSequence> duplicates,
                                std::span<const FailedSequence> failed, WindowValues& values) {
  const std::set<int64_t> numbers = numbers_of(failed);
  ReusedSequences copied;
  for (const DuplicateSequence& duplicate : duplicates) {
    if (numbers.contains(duplicate.first)) continue;
    const std::span<const float> from = values.of({.number = duplicate.first,
                                                   .tokens = duplicate.tokens,
                                                   .first_vector = duplicate.first_vector_of_first,
                                                   .vectors = duplicate.vectors});
    const std::span<float> to = values.of({.number = duplicate.number,
                                           .tokens = duplicate.tokens,
                                           .first_vector = duplicate.first_vector,
                                           .vectors = duplicate.vectors});
    std::copy(from.begin(), from.end(), to.begin());
    ++copied.sequences;
    copied.tokens += duplicate.tokens;
  }
  return copied;
}

}  // namespace encode
