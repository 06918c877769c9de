// Rows that a 16-bit type cannot hold: they are computed once more in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/encoder.h"
#include "encode/model_directory.h"

#include "engine/load_encoder.h"

namespace encode {

// float16 ends at 65504 and some checkpoints go beyond it for a few texts; one such value makes the
// whole vector infinite or NaN. One thread.
class WiderRedo {
 public:
  // `narrow`: what the first encoder was loaded with. `directory` must outlive this.
  WiderRedo(const ModelDirectory& directory, EffectiveResult narrow, EncoderOptions options);

  // The vectors that the first encoder gave a window.
  struct EncodedBatches {
    std::span<const PackedBatch> batches;
    std::span<float> values;   // [vectors of the window, dim]
    int64_t batch_tokens = 0;  // BatchPlan::budget_tokens
  };
  struct Outcome {
    bool finished = true;         // false: `done` asked to stop, and values are incomplete
    std::vector<int64_t> redone;  // rows whose vector is now finite, as PackedBatch counts them
    std::vector<LoadNote> notes;  // of the float32 model, if it was loaded by this call
  };

  // Encodes each row again, in float32 on the same device, that is not finite and belongs to one of
  // the batches. Rows that float32 cannot hold either stay as they are. The float32 model is loaded
  // beside the first at the first such row, and kept. Throws as load_encoder() and
  // Encoder::encode().
  Outcome run(const EncodedBatches& encoded, const Encoder& narrow, const Encoder::OnBatch& done);

 private:
  const ModelDirectory& directory_;
  EffectiveResult effective_;  // in float32
  EncoderOptions options_;
  bool can_widen_;
  std::unique_ptr<Encoder> wide_;
};

}  // namespace encode
