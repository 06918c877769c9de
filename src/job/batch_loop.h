// Encodes batches, and goes on after failures that a single sequence or batch causes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encode/batch_plan.h"
#include "encode/encoder.h"

#include "job/failure.h"
#include "job/packed_sequences.h"
#include "job/worker_context.h"

namespace encode {

// - If the device has too little memory for a batch, the loop halves the budget of all later
//   batches and goes on. The budget never grows again. It does not change the vectors.
// - If the budget cannot be halved, the batch is tried once more, because the memory may have been
//   needed only for a moment, by another program or by blocks that are released now. If it fails
//   again, each sequence gets a batch of its own, and one that does not fit then is refused.
// - If the encoder refuses a sequence, each sequence of the batch gets a batch of its own, and only
//   one that the encoder refuses then is refused.
// Not thread-safe.
class BatchLoop {
 public:
  // Both references must outlive the BatchLoop. `unit` is an index into JobSpec::units.
  BatchLoop(const WorkerContext& context, int64_t unit, Encoder& encoder);

  // Encodes the batches of one window into `values`, as Encoder::encode() does. Returns the
  // sequences that are refused; their vectors in `values` do not change. Calls `done` after each
  // batch, and returns nullopt if `done` returned false. Passes `next_batches`, which may be empty,
  // to Encoder::encode_ahead(), unless sequences had to be packed again. Sends BatchHalved. Throws:
  // - Error kUnavailable "device.memory" if no sequence fits on the device,
  // - Error kTempFail for an NVML failure that comes again,
  // - what Encoder::encode() throws if the device is lost.
  std::optional<std::vector<FailedSequence>> run(std::span<const PackedBatch> batches,
                                                 std::span<float> values,
                                                 const Encoder::OnBatch& done,
                                                 const Encoder::NextBatches& next_batches = {});

  // Returns the plan, with the budget that the device has memory for.
  const BatchPlan& plan() const { return plan_; }

 private:
  // What the loop does after a failure.
  enum class Next {
    kPackAgain,  // the sequences that are left are packed again, within the budget
    kAlone,      // each sequence that is left gets a batch of its own
    kRefuse,     // the sequence that failed alone is refused
  };
  Next next_after(const Failure& failure, bool alone);
  Next after_lack_of_memory();

  const WorkerContext& context_;
  const int64_t number_;
  Encoder& encoder_;
  BatchPlan plan_;
  const int64_t first_budget_;
  bool nvml_failed_ = false;
  bool tried_again_ = false;  // a batch was tried again for lack of memory since the last success
  int64_t too_large_ = 0;     // the sequences refused for lack of memory since one was encoded
};

}  // namespace encode
