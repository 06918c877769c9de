// Loads the model and the tokenizer of a unit, and keeps them for the next unit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "encode/encoder.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

#include "engine/load_encoder.h"
#include "job/wider_redo.h"
#include "job/worker_context.h"

namespace encode {

// A model on the device. Not thread-safe.
struct LoadedModel {
  ModelDirectory directory;
  EffectiveResult effective;             // the options of the unit that the model was loaded for
  std::unique_ptr<Tokenizer> tokenizer;  // null if that unit needs none
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<WiderRedo> wider_redo;
  std::string self_test_sha256;  // SelfTest::vectors_sha256
};

// Returns the tokenizer of the unit's model, or null if no row is a text and no skip list needs the
// vocabulary. Throws the errors of read_tokenizer_source() and load_document_tokenizer().
std::unique_ptr<Tokenizer> load_tokenizer_for(const JobUnit& unit, const ModelDirectory& directory);

// Returns the hardware options of the job with the number of threads of the unit. A load with these
// options sends ModelLoading again and again, so that the supervisor sees that it goes on.
// `context.events` must outlive the options.
EncoderOptions encoder_options(const WorkerContext& context, const JobUnit& unit);

// Holds one model at a time, because two may not fit on the device. Not thread-safe.
class ModelKeeper {
 public:
  // `context` must outlive the keeper.
  explicit ModelKeeper(const WorkerContext& context) : context_(context) {}

  // Returns the model of a unit. If the current model does not fit the unit, this function
  //   - frees that model and loads another one,
  //   - compares the model with an exact one if its matrix products are quantized,
  //   - runs the self-test,
  //   - sends ModelLoaded.
  // It sends ModelLoading after each step before ModelLoaded. The reference is valid until the next
  // call. Throws the errors of load_encoder() and load_tokenizer_for(), and Error kData if the
  // model fails a check.
  LoadedModel& model_of(int64_t unit);

 private:
  bool serves(const JobUnit& unit) const;
  void load(int64_t unit);
  Parity check_quantized(const JobUnit& unit);
  void self_test(const JobUnit& unit);

  const WorkerContext& context_;
  std::unique_ptr<LoadedModel> model_;
};

}  // namespace encode
