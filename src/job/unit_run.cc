#include "job/unit_run.h"

#include <fmt/format.h>
#include <memory>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/stopwatch.h"

namespace encode {
namespace {

// Returns the part that a row belongs to. `row` counts from the start of the window, as in
// PackedBatch.
WindowPart& part_of(Window& window, int64_t row) {
  auto part = window.parts.begin();
  for (; row >= part->rows.size(); ++part) row -= part->rows.size();
  return *part;
}

std::vector<ChunkTask> tasks_of(const ChunkStore& store) {
  std::vector<ChunkTask> tasks;
  for (const int64_t index : store.pending())
    tasks.push_back({.index = index, .rows = store.chunk(index)});
  return tasks;
}

ChunkOrigin origin_of(const DeviceFacts& device, const BatchPlan& plan) {
  return {.device = device.name,
          .libtorch = device.libtorch,
          .driver = device.driver,
          .batch_tokens = plan.budget_tokens};
}

std::string in_words(const ChunkOrigin& origin) {
  return fmt::format("{}, LibTorch {}{}", origin.device,
                     origin.libtorch.empty() ? "of unknown version" : origin.libtorch,
                     origin.driver.empty() ? "" : ", driver " + origin.driver);
}

}  // namespace

UnitRun::UnitRun(const WorkerContext& context, int64_t unit, LoadedModel& model)
    : context_(context),
      number_(unit),
      unit_(context.unit(unit)),
      model_(model),
      plan_(batch_plan_of(unit_, model.encoder->device())),
      origin_(origin_of(model.encoder->device(), plan_)) {}

bool UnitRun::run() {
  context_.events.send(UnitStarted{.unit = number_, .plan = plan_});
  std::unique_ptr<ChunkStore> store;
  std::unique_ptr<RowSink> sink;
  std::vector<ChunkTask> tasks = {{.index = 0, .rows = {0, unit_.identity.rows}}};
  if (unit_.chunk_files) {
    store = ChunkStore::open(context_.job.cache_dir, unit_.identity, unit_.chunk_rows,
                             ChunkStore::Open::kResume);
    check_origin(*store);
    sink = chunk_sink(*store);
    tasks = tasks_of(*store);
  } else {
    sink = final_sink(unit_);
    // Without rows there is no window, so the empty matrix is published here.
    if (unit_.identity.rows == 0)
      begin_final(unit_.final_path, unit_.identity)->publish({}, origin_);
  }

  WindowProducer producer(unit_, std::move(tasks),
                          plan_tokenizing(unit_, model_.directory, model_.tokenizer.get(), plan_));
  CommitThread committer(*sink, context_.events, number_, origin_);
  if (!encode_all(producer, committer)) return false;
  Stopwatch watch;
  committer.finish();
  seconds_.commit_awaited += watch.lap();
  seconds_.commit = committer.seconds();
  context_.events.send(
      UnitDone{.unit = number_,
               .rows_done = rows_,
               .stats = stats_,
               .stages = seconds_,
               .token_slots = slots_,
               .device_peak_bytes = model_.encoder->memory().peak_allocated_bytes});
  return true;
}

// Warns of chunks from another kind of device, or refuses them with strict_numerics, because the
// last bits of their vectors may differ.
void UnitRun::check_origin(const ChunkStore& store) const {
  for (const ChunkRecord& record : store.committed()) {
    if (record.origin.same_kind(origin_)) continue;
    if (context_.job.hardware.strict_numerics) {
      throw Error({.exit_code = ExitCode::kConfig,
                   .code = "run.other_device",
                   .what = "the chunks in the cache were computed on another kind of device",
                   .where = store.chunk_path(record.index),
                   .expected = in_words(origin_),
                   .found = in_words(record.origin),
                   .hint = "continue on the device of the first run, start over with --fresh, or "
                           "set hardware.strict_numerics to false"});
    }
    return context_.log(
        "warning",
        fmt::format("{}: chunks in the cache were computed on another kind of device ({}; here: "
                    "{}), so the last bits of their vectors may differ; "
                    "hardware.strict_numerics: true refuses such chunks",
                    unit_.identity.name, in_words(record.origin), in_words(origin_)));
  }
}

bool UnitRun::encode_all(WindowProducer& producer, CommitThread& committer) {
  Stopwatch watch;
  while (auto window = producer.next()) {
    seconds_.rows_awaited += watch.lap();
    seconds_.add(window->seconds);
    int64_t vectors = 0;
    for (const WindowPart& part : window->parts) {
      if (part.opens_chunk()) {
        context_.events.send(
            ChunkStarted{.unit = number_, .chunk = part.chunk.index, .rows = part.chunk.rows});
      }
      vectors += part.vectors();
    }
    EncodedWindow encoded;
    encoded.dim = model_.encoder->dim();
    encoded.values.resize(static_cast<size_t>(vectors * encoded.dim));
    if (!encode_window(*window, encoded.values) || !redo_in_float32(*window, encoded.values))
      return false;
    for (const WindowPart& part : window->parts) {
      stats_.add(part.stats);
      // no batch contains these rows, so they are counted here
      rows_ += part.stats.zero_token_rows;
    }
    if (window->parts.back().closes_chunk()) {
      model_.encoder->release_cached_memory();
      encoded.memory = model_.encoder->memory();
    }
    encoded.parts = std::move(window->parts);
    encoded.seconds = watch.lap();
    seconds_.encode += encoded.seconds;
    committer.push(std::move(encoded));
    seconds_.commit_awaited += watch.lap();
  }
  return true;
}

bool UnitRun::encode_window(const Window& window, std::span<float> values) {
  try {
    return model_.encoder->encode(window.batches, values,
                                  [this](const PackedBatch& batch) { return batch_done(batch); });
  } catch (const Error& error) {
    throw in_window(error, window);
  }
}

bool UnitRun::batch_done(const PackedBatch& batch) {
  rows_ += batch.sequences();
  tokens_ += batch.tokens();
  slots_ += model_.encoder->token_slots(batch.tokens());
  context_.events.send(BatchDone{.unit = number_, .rows_done = rows_, .tokens_done = tokens_});
  return !context_.stopped();
}

bool UnitRun::redo_in_float32(Window& window, std::span<float> values) {
  const auto go_on = [this](const PackedBatch&) { return !context_.stopped(); };
  try {
    const WiderRedo::Outcome redo = model_.wider_redo->run(
        {.batches = window.batches, .values = values, .batch_tokens = plan_.budget_tokens},
        *model_.encoder, go_on);
    for (const LoadNote& note : redo.notes) context_.log(note.level, note.message);
    if (!redo.finished) return false;
    for (const int64_t row : redo.redone) ++part_of(window, row).stats.redone_rows;
    if (redo.redone.empty()) return true;
    context_.log("warning", fmt::format("in the window from row {}, {} rows had values that were "
                                        "not finite; they were computed again in float32",
                                        window.first_row(), redo.redone.size()));
    return true;
  } catch (const Error& error) {
    throw in_window(error, window);
  }
}

Error UnitRun::in_window(const Error& error, const Window& window) const {
  ErrorDetail detail = error.detail();
  detail.where +=
      fmt::format("; the window begins at row {} of {}", window.first_row(), unit_.identity.name);
  return Error(std::move(detail));
}

}  // namespace encode
