#include "job/loaded_model.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/compute_types.h"
#include "base/host.h"
#include "base/stopwatch.h"
#include "job/self_test.h"
#include "job/tokenize_plan.h"
#include "store/fingerprint/fingerprint.h"
#include "store/run_files.h"
#include "tokenizer/document_tokens.h"

namespace encode {
namespace {

// Returns `effective` without its prompt. A prompt is text before a row, so units with different
// prompts can share a model.
EffectiveResult without_prompt(EffectiveResult effective) {
  effective.prompt.clear();
  return effective;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer_for(const JobUnit& unit,
                                              const ModelDirectory& directory) {
  const std::optional<LateInteraction>& late = unit.effective.late_interaction;
  const bool has_texts = unit.scan.tokenized < unit.scan.rows;
  const bool has_skip_list = late && !late->skip_words.empty();  // its words need the vocabulary
  if (!has_texts && !has_skip_list) return nullptr;
  return load_document_tokenizer(read_tokenizer_source(directory, unit.effective.tokenizer),
                                 directory);
}

EncoderOptions encoder_options(const WorkerContext& context, const JobUnit& unit) {
  return {.hardware = context.job.hardware,
          .threads = host_threads(unit, unit.speed.threads),
          .alive = [&events = context.events] { events.send(ModelLoading{}); }};
}

LoadedModel& ModelKeeper::model_of(int64_t unit) {
  if (!serves(context_.unit(unit))) load(unit);
  return *model_;
}

bool ModelKeeper::serves(const JobUnit& unit) const {
  const bool has_texts = unit.scan.tokenized < unit.scan.rows;
  return model_ != nullptr && model_->directory.path == unit.model_path &&
         without_prompt(model_->effective) == without_prompt(unit.effective) &&
         (model_->tokenizer != nullptr || !has_texts);
}

void ModelKeeper::load(int64_t unit_number) {
  const JobUnit& unit = context_.unit(unit_number);
  const Stopwatch watch;
  const EncoderOptions options = encoder_options(context_, unit);
  options.alive();
  model_.reset();
  auto model = std::make_unique<LoadedModel>();
  model->directory = open_model_directory(unit.model_path, unit.model_files,
                                          custom_code_policy(unit.effective.ignore_custom_code));
  model->effective = unit.effective;
  model->tokenizer = load_tokenizer_for(unit, model->directory);
  options.alive();
  LoadedEncoder loaded = load_encoder(model->directory, model->effective, options);
  model->encoder = std::move(loaded.encoder);
  model->wider_redo = std::make_unique<WiderRedo>(model->directory, model->effective, options);
  model_ = std::move(model);
  const double seconds = watch.seconds();
  for (const LoadNote& note : loaded.notes) context_.log(note.level, note.message);
  const Parity parity = check_quantized(unit);
  options.alive();
  self_test(unit);
  if (context_.wrap_encoder) model_->encoder = context_.wrap_encoder(std::move(model_->encoder));
  // Sent after the checks, which may load a second model: after this event the supervisor expects
  // batches.
  context_.events.send(
      ModelLoaded{.unit = unit_number,
                  .device = model_->encoder->device(),
                  .dim = model_->encoder->dim(),
                  .seconds = seconds,
                  .tokenizer = model_->tokenizer != nullptr ? model_->tokenizer->description() : "",
                  .host_rss_bytes = resident_bytes(),
                  .parity = parity});
}

Parity ModelKeeper::check_quantized(const JobUnit& unit) {
  constexpr double kLeastCosine = 0.95;  // usual models have at least 0.98
  if (!quantizes(unit.effective.dtype)) return {};
  EffectiveResult exact = unit.effective;
  exact.dtype = facts_of(unit.effective.dtype).exact;
  const LoadedEncoder reference =
      load_encoder(model_->directory, exact, encoder_options(context_, unit));
  const Parity parity = {.cosine = least_cosine_of_fixed_texts(*reference.encoder, *model_->encoder,
                                                               model_->tokenizer.get()),
                         .least = kLeastCosine};
  const std::string_view name = to_string(unit.effective.dtype);
  const std::string_view exact_name = to_string(exact.dtype);
  if (parity.refused() && !context_.job.measure_refused) {
    const bool int8 = unit.effective.dtype == ComputeType::kInt8;
    throw Error({.code = int8 ? ErrorCode("int8.parity") : ErrorCode("fp8.parity"),
                 .what = fmt::format("{} products change the vectors of this model too much", name),
                 .where = unit.model_path,
                 .expected = fmt::format("for fixed texts, a cosine of at least {} to {}",
                                         kLeastCosine, exact_name),
                 .found = fmt::format("{:.6f}", parity.cosine),
                 .hint = "use dtype bfloat16"});
  }
  context_.log(
      LogLevel::kWarning,
      fmt::format("dtype {} is an approximation: the vectors of fixed texts have a cosine of "
                  "at least {:.6f} to their {} vectors",
                  name, parity.cosine, exact_name));
  return parity;
}

void ModelKeeper::self_test(const JobUnit& unit) {
  const SelfTest test = run_self_test(*model_->encoder, model_->tokenizer.get(),
                                      without_input(unit.identity.fingerprint),
                                      RunFiles(context_.job.cache_dir).self_test());
  model_->self_test_sha256 = test.vectors_sha256;
  if (test.outcome == SelfTest::Outcome::kSame) {
    context_.log(LogLevel::kDebug,
                 "self-test: the vectors of fixed texts are bit-identical to the earlier ones");
  } else if (test.outcome == SelfTest::Outcome::kRounded) {
    context_.log(LogLevel::kWarning,
                 fmt::format("self-test: vectors of fixed texts differ by up to {} from the ones "
                             "at the start of this cache; a driver, a library or this program has "
                             "changed, so new rows are not bit-identical to earlier ones",
                             test.largest_difference));
  }
}

}  // namespace encode
