#include "job/unit_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host.h"
#include "base/stopwatch.h"
#include "job/host_guard.h"
#include "protocol/device_kind.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Returns true if a row of `rows` is in one of the ranges.
bool have_rows_of(const std::vector<RowRange>& ranges, RowRange rows) {
  return std::any_of(ranges.begin(), ranges.end(), [rows](RowRange other) {
    return other.begin < rows.end && rows.begin < other.end;
  });
}

// Returns the pending chunks that have no row to avoid.
std::vector<ChunkTask> tasks_of(const ChunkStore& store, const std::vector<RowRange>& avoid) {
  std::vector<ChunkTask> tasks;
  for (const int64_t index : store.pending()) {
    const RowRange rows = store.chunk(index);
    if (!have_rows_of(avoid, rows)) tasks.push_back({.index = index, .rows = rows});
  }
  return tasks;
}

ChunkOrigin origin_of(const DeviceFacts& device, const BatchPlan& plan) {
  ChunkOrigin origin = origin_of(device);
  origin.batch_tokens = plan.budget_tokens;
  return origin;
}

// Divides the rows of `probe` into kProbeParts tasks. The indices of these tasks name no chunks.
std::vector<ChunkTask> probe_tasks(RowRange probe) {
  const int64_t part_rows = (probe.size() + kProbeParts - 1) / kProbeParts;
  std::vector<ChunkTask> tasks;
  for (int64_t begin = probe.begin; begin < probe.end; begin += part_rows) {
    tasks.push_back({.index = std::ssize(tasks),
                     .rows = {.begin = begin, .end = std::min(probe.end, begin + part_rows)}});
  }
  return tasks;
}

// Returns KeyRules::token_types.
std::string token_types_text(const RowTypeIds& types) {
  if (types.all_zero()) return {};
  return fmt::format("{}|{}|{}", fmt::join(types.before, ","), types.text,
                     fmt::join(types.after, ","));
}

}  // namespace

UnitRun::UnitRun(const WorkerContext& context, int64_t unit, LoadedModel& model,
                 CacheSession& cache)
    : context_(context),
      number_(unit),
      unit_(context.unit(unit)),
      model_(model),
      cache_(cache),
      encoder_(context, unit, model, cache),
      origin_(origin_of(model.encoder->device(), encoder_.plan())),
      budget_(host_budget(context, unit_, encoder_.plan())) {}

UnitRun::End UnitRun::run(Retirement& retirement) {
  context_.events.send(UnitStarted{.unit = number_, .plan = encoder_.plan()});
  if (!probe()) return End::kStopped;
  if (!unit_.chunk_files) {
    // Without rows there is no window, so the empty matrix is published here.
    if (unit_.identity.rows == 0)
      begin_final(unit_.final_path, unit_.identity)->publish({}, origin_);
    return encode(final_sink(unit_),
                  std::vector<ChunkTask>{{.index = 0, .rows = unit_.identity.range()}}, retirement);
  }
  const bool shared = context_.job.workers > 1;
  const std::unique_ptr<ChunkStore> store =
      ChunkStore::open(context_.job.cache_dir, unit_.identity, unit_.chunk_rows,
                       ChunkStore::Open::kJoin);  // the supervisor has checked the chunks
  if (store == nullptr) return finish();          // other workers have finished the stream
  check_origin(*store);
  std::unique_ptr<RowSink> sink = chunk_sink(*store);
  std::vector<ChunkTask> tasks = tasks_of(*store, unit_.avoid);
  if (!shared) return encode(std::move(sink), std::move(tasks), retirement);
  const auto claim = [&store](const ChunkTask& chunk) { return store->claim(chunk.index); };
  const Stretch stretch = stretch_of(unit_, tokenize_plan(), context_.job.workers);
  return encode(std::move(sink), TaskQueue(std::move(tasks), claim, stretch), retirement);
}

UnitRun::End UnitRun::encode(std::unique_ptr<RowSink> sink, TaskQueue tasks,
                             Retirement& retirement) {
  TokenizePlan plan = tokenize_plan();
  std::optional<KeyMaker> keys;
  if (cache_.on()) plan.keys = &keys.emplace(key_rules(plan));
  sink = caching_sink(std::move(sink), cache_);
  WindowProducer producer(unit_, std::move(tasks), plan);
  sink = locked_sink(std::move(sink), context_.job);
  CommitThread committer(*sink, context_.events, number_, origin_);
  const End end = encode_all(producer, committer, retirement);
  if (end == End::kStopped) return end;
  Stopwatch watch;
  committer.finish();
  cache_.write();
  tell_reuse();
  seconds_.commit_awaited += watch.lap();
  seconds_.commit = committer.seconds();
  return end == End::kRetired ? end : finish();
}

UnitRun::End UnitRun::finish() const {
  context_.events.send(
      UnitDone{.unit = number_,
               .rows_done = rows_,
               .stats = stats_,
               .stages = seconds_,
               .token_slots = slots_,
               .device_peak_bytes = model_.encoder->memory().peak_allocated_bytes});
  return End::kDone;
}

TokenizePlan UnitRun::tokenize_plan() const {
  TokenizePlan plan =
      plan_tokenizing(unit_, model_.directory, model_.tokenizer.get(), encoder_.plan());
  plan.window = plan_window(unit_, encoder_.plan(), budget_);
  plan.guard = context_.guard;
  return plan;
}

KeyRules UnitRun::key_rules(const TokenizePlan& plan) const {
  return {.fingerprint = of_sequences(unit_.identity.fingerprint),
          .numerics_version = Fingerprint::kNumericsVersion,
          .prompt_tokens = plan.prompt_tokens,
          .token_types = token_types_text(plan.type_ids),
          .device = origin_.device,
          .libtorch = origin_.libtorch,
          .driver = origin_.driver,
          .self_test = model_.self_test_sha256,
          .kernels = origin_.kernels,
          .cuda_numerics = origin_.cuda_numerics};
}

// Encodes the rows of JobUnit::probe. Returns false if the worker was asked to stop.
bool UnitRun::probe() {
  if (unit_.probe.size() == 0) return true;
  TokenizePlan plan = tokenize_plan();
  plan.window.tokens = 0;  // each task has windows of its own
  WindowProducer producer(unit_, probe_tasks(unit_.probe), plan);
  while (auto window = producer.next()) {
    if (window->batches.empty()) continue;  // all its rows were set aside, or have no tokens
    const RowRange rows = window->rows();
    context_.events.send(ProbeStarted{.unit = number_, .rows = rows});
    const WindowEncoder::Progress progress = {
        .batch_done = [this](const PackedBatch& /*batch*/) { return go_on(); },
        .go_on = [this] { return go_on(); }};
    if (!encoder_.encode(std::move(*window), progress)) return false;
    context_.events.send(ProbeDone{.unit = number_, .rows = rows});
  }
  return true;
}

// Looks for committed chunks that were computed on another kind of device, by other algorithms for
// the matrix products, or by other CUDA kernels: the last bits of their vectors may differ. Throws
// Error with strict_numerics, and warns without it or if a record does not name the kernels.
void UnitRun::check_origin(const ChunkStore& store) const {
  std::string warning;
  for (const ChunkRecord& record : store.committed()) {
    const ChunkOrigin& origin = record.origin;
    const bool same = origin.same_bits(origin_);
    if (!same && context_.job.hardware.strict_numerics)
      throw other_device_error(origin_, origin, store.chunk_path(record.index));
    if (!warning.empty() || (same && !origin.lacks_kernels(origin_))) continue;
    const std::string places = fmt::format("({}; here: {})", describe(origin), describe(origin_));
    warning = same ? fmt::format(
                         "chunks in the cache do not say which CUDA kernels have computed "
                         "them {}, so the last bits of their vectors may differ",
                         places)
                   : fmt::format(
                         "chunks in the cache were computed on another kind of device, or "
                         "with other matrix products or CUDA kernels {}, so the last bits "
                         "of their vectors may differ; --set "
                         "hardware.strict_numerics=true refuses such chunks",
                         places);
  }
  if (!warning.empty()) context_.log(LogLevel::kWarning, unit_.identity.name + ": " + warning);
}

UnitRun::End UnitRun::encode_all(WindowProducer& producer, CommitThread& committer,
                                 Retirement& retirement) {
  RowRange rows;  // the rows of the window that is being encoded
  const WindowEncoder::Progress progress = {
      .batch_done = [this](const PackedBatch& batch) { return batch_done(batch); },
      .go_on = [this] { return go_on(); },
      .next = [&] { return begin_next(producer, rows); }};
  // Released, because ReleaseRule must not count memory of the model's checks or of another stream.
  model_.encoder->release_cached_memory();
  Stopwatch watch;
  std::vector<float> memory;  // of a window that is durable
  while (auto window = producer.next()) {
    rows = window->rows();
    seconds_.commit = committer.seconds();
    begin(*window, watch.lap());
    const bool last = window->last;
    std::optional<WindowVectors> vectors =
        encoder_.encode(std::move(*window), progress, std::move(memory));
    if (!vectors) return End::kStopped;
    count_reused(vectors->reused);
    if (vectors->reused.sequences > 0 && !go_on()) return End::kStopped;
    const int64_t closed = count_parts(vectors->parts);
    const bool closes_chunk = vectors->parts.back().closes_chunk();
    if (closes_chunk) release_memory(last);
    memory = commit(encoded_window(std::move(*vectors)), committer, watch);
    if (closed > 0) tell_reuse();
    retirement.count({.chunks = closed,
                      .resident_bytes = private_resident_bytes(),
                      .seconds = context_.started.seconds()});
    if (closes_chunk && !last && retirement.due()) return End::kRetired;
  }
  return End::kDone;
}

// Tells that the window begins, and counts it. The run has waited `awaited` seconds for it.
void UnitRun::begin(const Window& window, double awaited) {
  // The report comes first, because otherwise the first report of a run would show nothing but this
  // wait.
  tell_start(window);
  seconds_.rows_awaited += awaited;
  seconds_.add(window.seconds);
  deduplicated_rows_ += std::ssize(window.duplicates);
  window_rows_ = {.first = rows_, .rows = window.rows().size(), .sequences = window.sequences};
}

void UnitRun::count_reused(const ReusedSequences& reused) {
  count_sequences(reused.sequences);
  tokens_ += reused.tokens;
  slots_ += reused.tokens;  // reused rows have no padding
}

// Returns the number of chunks that end in the window.
int64_t UnitRun::count_parts(std::span<const WindowPart> parts) {
  int64_t closed = 0;
  for (const WindowPart& part : parts) {
    stats_.add(part.stats);
    // Rows without tokens are in no batch, so they are counted here.
    if (!unit_.effective.passages) rows_ += part.stats.zero_token_rows;
    closed += part.closes_chunk() ? 1 : 0;
  }
  if (unit_.effective.passages) rows_ = window_rows_.first + window_rows_.rows;
  return closed;
}

// Gives the window to the committer. Returns the values of a durable window as memory for another
// one.
std::vector<float> UnitRun::commit(EncodedWindow window, CommitThread& committer,
                                   Stopwatch& watch) {
  window.seconds = watch.lap();
  seconds_.encode += window.seconds;
  std::vector<float> memory = committer.push(std::move(window));
  if (pressed()) {
    memory = {};
    trim_heap();
  }
  seconds_.commit_awaited += watch.lap();
  return memory;
}

// Returns the batches of the next window if the device may begin them directly after the last batch
// of the current window, whose rows are `rows`. Returns nothing if it may not.
std::span<const PackedBatch> UnitRun::begin_next(WindowProducer& producer, RowRange rows) {
  const Window* const next = producer.peek();
  if (next == nullptr || next->batches.empty()) return {};
  // With a cache the batches are not known yet, because the rows that the cache has are left out.
  if (cache_.on() && !next->keys.empty()) return {};
  const RowRange ahead = next->rows();
  if (have_rows_of(unit_.alone, rows) || have_rows_of(unit_.alone, ahead)) return {};
  // Sent before the launch, because the device may fail as soon as it has the first of these
  // batches.
  context_.events.send(
      WindowStarted{.unit = number_, .rows = rows, .stages = seconds_, .ahead = ahead});
  return next->batches;
}

EncodedWindow UnitRun::encoded_window(WindowVectors vectors) {
  const bool closes_chunk = vectors.parts.back().closes_chunk();
  return {.parts = std::move(vectors.parts),
          .values = std::move(vectors.values),
          .dim = model_.encoder->dim(),
          .batch_tokens = encoder_.plan().budget_tokens,
          .memory = closes_chunk ? model_.encoder->memory() : DeviceMemory()};
}

// Must be called at the end of a chunk. A release leaves the device idle for a moment, so it is
// done only if ReleaseRule demands it, and at the end of the stream, where the device is idle
// anyway.
void UnitRun::release_memory(bool last) {
  if (last || release_rule_.due(model_.encoder->memory())) model_.encoder->release_cached_memory();
}

void UnitRun::tell_start(const Window& window) {
  context_.events.send(WindowStarted{.unit = number_, .rows = window.rows(), .stages = seconds_});
  for (const WindowPart& part : window.parts) {
    if (!part.opens_chunk()) continue;
    context_.events.send(
        ChunkStarted{.unit = number_, .chunk = part.chunk.index, .rows = part.chunk.rows});
  }
}

void UnitRun::tell_reuse() {
  CacheCounts counts = cache_.take_counts();
  counts.deduplicated_rows = std::exchange(deduplicated_rows_, 0);
  if (counts.requests + counts.deduplicated_rows > 0)
    context_.events.send(CacheUsed{.unit = number_, .counts = counts});
}

// Counts sequences of the window that are encoded. A row has several of them if it is cut into
// passages, and then counts in proportion.
void UnitRun::count_sequences(int64_t sequences) {
  if (!unit_.effective.passages) {
    rows_ += sequences;
    return;
  }
  window_rows_.done += sequences;
  rows_ = window_rows_.first +
          window_rows_.rows * window_rows_.done / std::max<int64_t>(1, window_rows_.sequences);
}

bool UnitRun::batch_done(const PackedBatch& batch) {
  count_sequences(batch.sequences());
  tokens_ += batch.tokens();
  slots_ += model_.encoder->token_slots(batch.tokens());
  return go_on();
}

// Returns true while the host is short of memory; see PressureGuard.
bool UnitRun::pressed() const { return context_.guard != nullptr && context_.guard->pressed(); }

// Must be called after each batch. Returns false if the worker was asked to stop.
bool UnitRun::go_on() {
  std::ignore = pressed();  // the guard looks at the memory, and shrinks the caches if it is short
  context_.events.send(BatchDone{.unit = number_, .rows_done = rows_, .tokens_done = tokens_});
  return !context_.stopped();
}

}  // namespace encode
