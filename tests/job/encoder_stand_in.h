// What the tests of the stages of WindowEncoder share: an encoder that needs no model, windows of
// token ids, and the events that a worker sends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encode/encoder.h"
#include "encode/job.h"
#include "encode/tokenizer.h"
#include "encode/worker_event.h"

#include "base/file.h"
#include "batching/duplicates.h"
#include "batching/pack.h"
#include "job/event_pipe.h"
#include "job/window_producer.h"
#include "job/worker_context.h"
#include "support/temp_dir.h"

namespace encode::testing {

// Gives a row the vector (its first token id, 1). With `per_token` each token has the vector (its
// id, 1).
class StandInEncoder : public Encoder {
 public:
  bool per_token = false;
  // Called before each batch. May throw.
  std::function<void(const PackedBatch&)> before = [](const PackedBatch& /*batch*/) {};
  // Called for each vector, which it may change.
  std::function<void(std::span<float>)> after = [](std::span<float> /*vector*/) {};
  std::vector<std::vector<int64_t>> tried;  // the rows of each batch, also of batches that fail
  int64_t knew_next = 0;                    // the number of calls with a NextBatches

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const OnBatch& done) override {
    for (const PackedBatch& batch : batches) {
      tried.push_back(batch.sequence_numbers);
      before(batch);
      for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) encode_row(batch, b, out);
      if (!done(batch)) return false;
    }
    return true;
  }
  bool encode_ahead(std::span<const PackedBatch> batches, std::span<float> out, const OnBatch& done,
                    const NextBatches& next) override {
    knew_next += next ? 1 : 0;
    return encode(batches, out, done);
  }
  int64_t dim() const override { return 2; }
  bool token_embeddings() const override { return per_token; }
  int64_t vocab_size() const override { return 1000; }
  int64_t max_length() const override { return 100; }
  int64_t token_slots(int64_t tokens) const override { return tokens; }
  const DeviceFacts& device() const override { return device_; }
  void release_cached_memory() noexcept override {}
  DeviceMemory memory() const override { return {}; }

 private:
  void encode_row(const PackedBatch& batch, size_t b, std::span<float> out) const {
    const auto begin = static_cast<size_t>(batch.cu_seqlens[b]);
    const auto end = static_cast<size_t>(batch.cu_seqlens[b + 1]);
    auto vector = static_cast<size_t>(batch.first_vectors[b]);
    for (size_t token = begin; token < (per_token ? end : begin + 1); ++token, ++vector) {
      const std::span<float> values = out.subspan(2 * vector, 2);
      values[0] = static_cast<float>(batch.input_ids[token]);
      values[1] = 1;
      after(values);
    }
  }

  DeviceFacts device_;
};

// A job with one unit, "tc", with batches of `batch_tokens`. Keeps the events that are sent.
class StandInJob {
 public:
  explicit StandInJob(int64_t batch_tokens) {
    JobUnit unit;
    unit.identity.name = "tc";
    unit.speed.batch_tokens = batch_tokens;
    unit.effective.pooling = {PoolingMode::kMean};
    spec.units.push_back(unit);
  }

  std::vector<WorkerEvent> events() const {
    const std::string text = read_bytes(dir.file("events"));
    std::vector<WorkerEvent> events;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      events.push_back(worker_event_from_json(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    return events;
  }
  // The events of one kind.
  template <typename Event>
  std::vector<Event> events_of() const {
    std::vector<Event> found;
    for (const WorkerEvent& event : events()) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }

  // Sets the stop request of the worker.
  void stop(bool stop) { stop_ = stop; }

  TempDir dir;
  JobSpec spec;

 private:
  UniqueFd file_ =
      UniqueFd(::open(dir.file("events").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  EventPipe pipe_{file_.get()};
  std::atomic<bool> stop_ = false;

 public:
  const WorkerContext context = {.job = spec, .events = pipe_, .stop = stop_};
};

// A row of `tokens` tokens for each entry. The ids of row r are r + 1.
inline TokenizedRows rows_with(const std::vector<int>& tokens) {
  TokenizedRows rows;
  for (const int count : tokens) {
    rows.ids.insert(rows.ids.end(), static_cast<size_t>(count),
                    static_cast<int32_t>(rows.size() + 1));
    rows.end_row();
  }
  return rows;
}

// A window of rows as the producer makes it, in parts of `part_rows` rows that are whole chunks.
// The first row of the window is row 100 of the stream.
inline Window window_with(const TokenizedRows& rows, int64_t part_rows, bool per_token) {
  constexpr int64_t kFirstRow = 100;
  Window window;
  for (int64_t begin = 0; begin < rows.size(); begin += part_rows) {
    const int64_t end = std::min(rows.size(), begin + part_rows);
    WindowPart part;
    part.rows = {.begin = kFirstRow + begin, .end = kFirstRow + end};
    part.chunk = {.index = std::ssize(window.parts), .rows = part.rows};
    for (int64_t row = begin; row < end; ++row) {
      const std::span<const int32_t> ids = rows.row(row);
      part.stats.tokens += std::ssize(ids);
      if (per_token) part.row_vectors.push_back(static_cast<int32_t>(ids.size()));
    }
    window.parts.push_back(part);
  }
  Sequences sequences = sequences_of(rows, per_token);
  window.duplicates = find_duplicates(sequences);
  window.batches = pack(sequences, 8, window.duplicates);
  window.sequences = rows.size();
  window.vector_offsets = std::move(sequences.vectors.offsets);
  return window;
}

}  // namespace encode::testing
