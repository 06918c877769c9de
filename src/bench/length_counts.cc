#include "bench/length_counts.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "encode/text.h"

#include "run_plan/resume.h"

namespace encode {
namespace {

// Returns the bucket of a length. There are 16 buckets for each power of two, and one bucket for
// each length below 16.
size_t bucket_of(uint64_t bytes) {
  constexpr int kSteps = 16;
  constexpr int kStepBits = 4;
  if (bytes < kSteps) return bytes;
  const int shift = std::bit_width(bytes) - 1 - kStepBits;
  return static_cast<size_t>(shift) * kSteps + (bytes >> static_cast<unsigned>(shift));
}

int64_t bytes_of(const Text& text) {
  return static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
}

}  // namespace

void LengthCounts::add(int64_t bytes) {
  Bucket& bucket = buckets_[bucket_of(static_cast<uint64_t>(bytes))];
  ++bucket.rows;
  bucket.bytes += bytes;
  ++rows_;
}

int64_t LengthCounts::bytes() const {
  int64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.bytes;
  return sum;
}

double LengthCounts::bytes_up_to(double cap) const {
  double sum = 0;
  for (const Bucket& bucket : buckets_)
    sum += std::min(static_cast<double>(bucket.bytes), static_cast<double>(bucket.rows) * cap);
  return sum;
}

InputLengths count_lengths(const InputOptions& input, int64_t timed_rows, const StopSignal& stop) {
  InputLengths lengths;
  const std::unique_ptr<TextReader> reader = open_texts(input);
  for (Text text; reader->next(text);) {
    if (stop.number() != 0) throw Stopped();
    if (text.row < timed_rows) lengths.timed.add(bytes_of(text));
    lengths.whole.add(bytes_of(text));
  }
  return lengths;
}

}  // namespace encode
