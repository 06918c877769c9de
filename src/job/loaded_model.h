// The model that the worker has on its device, with its tokenizer.
#pragma once

#include <cstdint>
#include <memory>

#include "encode/encoder.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

#include "engine/load_encoder.h"
#include "job/wider_redo.h"
#include "job/worker_context.h"

namespace encode {

// One thread.
struct LoadedModel {
  ModelDirectory directory;
  EffectiveResult effective;             // of the unit that it was loaded for
  std::unique_ptr<Tokenizer> tokenizer;  // null when every row of that unit is token ids
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<WiderRedo> wider_redo;
};

// The tokenizer of a unit's model; null when every row of the unit is token ids.
std::unique_ptr<Tokenizer> load_tokenizer_for(const JobUnit& unit, const ModelDirectory& directory);

EncoderOptions encoder_options(const WorkerContext& context, const JobUnit& unit);

// Holds one model at a time: units that share a model follow one another. One thread.
class ModelKeeper {
 public:
  explicit ModelKeeper(const WorkerContext& context) : context_(context) {}

  // The model of a unit. One that is not there yet is loaded, announced (ModelLoaded), compared
  // with its exact type if its products are quantized, and put through the self-test. The model of
  // an earlier unit is let go first: two of them need not fit. Throws as load_encoder() and
  // load_tokenizer_from_directory(), and Error kData for a model that fails a check.
  LoadedModel& model_of(int64_t unit);

 private:
  bool serves(const JobUnit& unit) const;
  void load(int64_t unit);
  void check_quantized(const JobUnit& unit);
  void self_test(const JobUnit& unit);

  const WorkerContext& context_;
  std::unique_ptr<LoadedModel> model_;
};

}  // namespace encode
