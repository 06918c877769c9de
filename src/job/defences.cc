#include "job/defences.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <torch/headeronly/version.h>

#include "encode/error.h"

#include "base/environment.h"
#include "base/thread_pool.h"
#include "batching/pack.h"
#include "engine/device_facts.h"
#include "job/cache_session.h"
#include "job/tokenize_plan.h"
#include "job/vector_check.h"
#include "nn/cuda/cuda_device.h"

namespace encode {
namespace {

std::vector<PackedBatch> one_row(const Encoder& encoder, int64_t tokens, int64_t id) {
  TokenizedRows rows;
  rows.ids.assign(static_cast<size_t>(tokens), static_cast<int32_t>(id));
  rows.end_row();
  return pack(sequences_of(std::move(rows), encoder.token_embeddings()), tokens);
}

std::vector<float> encode_row(LoadedModel& model, const std::vector<PackedBatch>& batches) {
  const Encoder& encoder = *model.encoder;
  const int64_t vectors = batches.front().vectors.front();
  std::vector<float> values(static_cast<size_t>(vectors * encoder.dim()));
  model.encoder->encode(batches, values, [](const PackedBatch&) { return true; });
  return values;
}

// Returns true if the encoder refuses the row with this code.
bool refuses(LoadedModel& model, const std::vector<PackedBatch>& batches, ErrorCode code) {
  try {
    encode_row(model, batches);
    return false;
  } catch (const Error& error) {
    if (error.detail().code != code) throw;
    return true;
  }
}

bool recognises_wrong_vectors() {
  const std::vector<float> good = {0.6F, 0.8F};
  const std::vector<float> zero = {0, 0};
  const std::vector<float> nan = {0.6F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> infinite = {std::numeric_limits<float>::infinity(), 0};
  return !check_vector(good, {.unit_norm = true}) && check_vector(zero, {}) &&
         check_vector(nan, {}) && check_vector(infinite, {});
}

void check_valid_row(const LoadedModel& model, std::span<const float> values) {
  const std::optional<BadVector> wrong =
      check_vector(values.first(static_cast<size_t>(model.encoder->dim())),
                   vector_rules(model.directory, model.effective));
  if (!wrong) return;
  throw Error({.code = "vectors.all_bad",
               .what = "the vector of a valid row is wrong",
               .where = model.directory.path,
               .expected = "a finite vector that is not 0",
               .found = fmt::format("{}: {}", wrong->code.name(), wrong->message),
               .hint = kBadVectorsHint});
}

// Reports the settings of the environment, because LibTorch uses these settings and not the
// options.
DeviceChecked describe_device(const DeviceFacts& device) {
  if (device.kind == DeviceKind::kCpu) return {.device = device, .allocator = ""};
  return {.device = device,
          .allocator = environment_variable("PYTORCH_CUDA_ALLOC_CONF"),
          .synchronous_launches = environment_variable("CUDA_LAUNCH_BLOCKING") == "1"};
}

// Also warns if the version of the loaded LibTorch is not the version of the build, because minor
// versions have different binary interfaces.
void tell_device(const WorkerContext& context, const DeviceFacts& device) {
  context.events.send(describe_device(device));
  if (device.libtorch == TORCH_VERSION) return;
  context.log(LogLevel::kWarning,
              fmt::format("LibTorch {} is loaded, but the worker was built for {}", device.libtorch,
                          TORCH_VERSION));
}

}  // namespace

void try_defences(const WorkerContext& context, LoadedModel& model) {
  const auto tell = [&](std::string name, bool works, std::string found) {
    context.events.send(
        DefenceTried{.name = std::move(name), .works = works, .found = std::move(found)});
  };
  const Encoder& encoder = *model.encoder;
  constexpr int64_t kTokens = 4;
  const int64_t tokens = std::min(kTokens, encoder.max_length());
  const std::vector<PackedBatch> valid = one_row(encoder, tokens, encoder.vocab_size() / 2);
  const std::vector<float> before = encode_row(model, valid);
  check_valid_row(model, before);

  const bool ids = refuses(model, one_row(encoder, tokens, encoder.vocab_size()), "batch.token_id");
  tell("ids", ids, ids ? "an id outside the vocabulary is refused" : "a wrong id was encoded");
  const bool length = refuses(model, one_row(encoder, encoder.max_length() + 1, 0), "batch.length");
  tell(
      "positions", length,
      length ? "a row beyond the longest length is refused" : "a row that is too long was encoded");
  const bool vectors = recognises_wrong_vectors();
  tell("vectors", vectors,
       vectors ? "NaN, infinity and zeros are recognised" : "a wrong vector was taken for good");
  model.encoder->release_cached_memory();
  const bool same = encode_row(model, valid) == before;
  tell("release", same,
       same ? "the model encodes the same bits after memory was released"
            : "a row got other bits after memory was released");
}

namespace {

// Starts as many threads as a unit needs in addition to the main thread, because a limit may refuse
// them (`ulimit -u`, `ulimit -d`).
void try_threads(const JobUnit& unit) {
  constexpr int64_t kMainProducerAndCommit = 3;
  const ThreadPool threads(
      kMainProducerAndCommit + std::max<int64_t>(1, unit.speed.tokenizer_threads) - 1, [] {});
}

}  // namespace

bool check_only(const WorkerContext& context, ModelKeeper& models) {
  const JobSpec& job = context.job;
  if (job.units.empty()) {
    const OpenedDevice opened = open_device(job.hardware);
    if (!opened.warning.empty()) context.log(LogLevel::kWarning, opened.warning);
    tell_device(context, device_facts(opened.device, compute_threads(opened.device, 0)));
    return true;
  }
  CacheSession cache(context);
  CacheRequest request;  // no row has this key, but looking for it reads the store
  cache.find({&request, 1});
  for (int64_t unit = 0; unit < std::ssize(job.units); ++unit) {
    if (context.stopped()) return false;
    LoadedModel& model = models.model_of(unit);
    const DeviceFacts& device = model.encoder->device();
    if (unit == 0) {
      try_threads(context.unit(unit));
      tell_device(context, device);
      try_defences(context, model);
    }
    context.events.send(
        UnitStarted{.unit = unit, .plan = batch_plan_of(context.unit(unit), device)});
  }
  return true;
}

}  // namespace encode
