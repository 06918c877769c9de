// The loop: windows in, rows encoded, chunks committed.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "encode/encoder.h"
#include "encode/job.h"
#include "encode/tokenizer.h"

#include "job/event_pipe.h"
#include "job/wider_redo.h"
#include "job/window_producer.h"

namespace encode {

// Runs the units of a job one after the other on one device. A model is loaded once for all units
// that share it.
class UnitRunner {
 public:
  // `stop` may be set by a signal handler; it is looked at after every batch.
  UnitRunner(const JobSpec& job, EventPipe& events, const std::atomic<bool>& stop)
      : job_(job), events_(events), stop_(stop) {}

  // False where it was asked to stop: committed chunks are safe, the one being encoded is dropped.
  bool run(int64_t unit);

  // What JobSpec::product_seconds asks for. False where it was asked to stop.
  bool time_products(int64_t unit);

 private:
  void load(int64_t unit);
  TokenizePlan tokenize_plan(const JobUnit& unit) const;
  void check_quantized(int64_t unit, EncoderOptions options);
  bool encode_windows(int64_t unit, WindowProducer& producer, class CommitThread& committer);
  bool encode_window(int64_t unit, Window& window, std::span<float> values);
  void send_chunk_started(int64_t unit, const ChunkTask& chunk);
  void self_test(int64_t unit);
  void log(int64_t unit, const std::string& level, const std::string& message);

  const JobSpec& job_;
  EventPipe& events_;
  const std::atomic<bool>& stop_;
  std::optional<ResultOptions> loaded_;  // what encoder_ was loaded for, prompts left out
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<WiderRedo> wider_redo_;
  RowStats unit_stats_;
  StageSeconds unit_seconds_;
  int64_t unit_rows_ = 0;
  int64_t unit_tokens_ = 0;
  int64_t unit_slots_ = 0;
};

}  // namespace encode
