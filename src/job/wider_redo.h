// Rows that a 16-bit type cannot hold: computed once more in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/encoder.h"

namespace encode {

// float16 ends at 65504 and some checkpoints go beyond it for a few texts; one such value makes the
// whole vector infinite or NaN. One thread.
class WiderRedo {
 public:
  // `narrow`: what the first encoder was loaded with.
  explicit WiderRedo(EncoderOptions narrow);

  struct Outcome {
    bool finished = true;         // false: `done` asked to stop, and values are incomplete
    std::vector<int64_t> redone;  // rows whose vector is now finite, as PackedBatch counts them
  };

  // Encodes again, in float32 on the same device, each row of `values`, which `narrow` gave, that
  // is not finite and belongs to one of `batches`. Rows that float32 cannot hold either stay as
  // they are. The float32 model is loaded beside the first at the first such row, and kept. Throws
  // as load_encoder() and Encoder::encode().
  Outcome run(std::span<const PackedBatch> batches, const Encoder& narrow, std::span<float> values,
              const Encoder::BatchDone& done);

 private:
  EncoderOptions options_;
  bool can_widen_;
  std::unique_ptr<Encoder> wide_;
};

}  // namespace encode
