// Computes sequences again in float32 if their values were too large for a 16-bit type.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/encoder.h"
#include "encode/model_directory.h"

#include "engine/load_encoder.h"
#include "job/packed_sequences.h"

namespace encode {

// The largest float16 is 65504, and the values of some models exceed it for a few texts. One value
// that is too large makes the whole vector infinite or NaN. Not thread-safe.
class WiderRedo {
 public:
  // `narrow` and `options` are what the first encoder was loaded with. `directory` must outlive the
  // WiderRedo.
  WiderRedo(const ModelDirectory& directory, EffectiveResult narrow, EncoderOptions options);

  struct Outcome {
    bool finished = true;         // false: `done` asked to stop, and no vector was replaced
    std::set<int64_t> redone;     // the numbers of the sequences that got finite vectors
    std::vector<LoadNote> notes;  // of the float32 model, if this call loaded it
  };

  // The sequences of a window that need other vectors.
  struct Request {
    std::span<const PackedBatch> batches;  // the batches that the first encoder got
    // Those of their sequences whose vectors are not finite.
    std::span<const PackedSequence> sequences;
    int64_t batch_tokens = 0;  // BatchPlan::budget_tokens
  };

  // Replaces the vectors of `request.sequences` in `values` by vectors from a float32 encoder on
  // the same device. If a float32 vector is not finite either, the old vectors of its sequence
  // stay. The first call that needs the float32 model loads it, and both models then stay loaded.
  // Does nothing if there are no such sequences, or if the first encoder computes in float32.
  // Throws the errors of load_encoder() and Encoder::encode().
  Outcome run(const Request& request, WindowValues& values, const Encoder::OnBatch& done);

 private:
  const ModelDirectory& directory_;
  EffectiveResult effective_;  // of the float32 encoder
  EncoderOptions options_;
  bool can_widen_;  // false if the first encoder computes in float32
  std::unique_ptr<Encoder> wide_;
};

}  // namespace encode
