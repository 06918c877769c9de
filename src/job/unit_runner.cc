#include "job/unit_runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/host.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "engine/load_notes.h"
#include "job/commit_thread.h"
#include "job/self_test.h"

namespace encode {
namespace {

// Four windows are alive at a time (one read, two queued, one encoded), each as text, as ids and as
// packed batches.
constexpr int64_t kTextShares = 16;

// Batches hold no more tokens than batch_size rows of the longest length would: the memory that the
// setting was chosen for, filled with as many short rows as fit into it. 0: no wish.
int64_t wished_batch_tokens(const JobUnit& unit, int64_t max_length) {
  const SpeedOptions& speed = unit.config.speed;
  int64_t tokens = speed.batch_tokens;
  if (speed.batch_size > 0 && max_length > 0) {
    const int64_t rows_budget = speed.batch_size * max_length;
    constexpr int64_t kMostByRows = 16384;  // one launch of this many tokens fills any device
    tokens = tokens > 0 ? std::min(tokens, rows_budget) : std::min(kMostByRows, rows_budget);
  }
  return tokens;
}

// Of a window's vectors, where every token has one.
constexpr int64_t kVectorBytes = 128 << 20;

int64_t window_text_bytes(const JobUnit& unit) {
  const int64_t texts = std::max<int64_t>(unit.config.speed.prefetch_bytes / kTextShares, 1);
  if (!unit.identity.token_embeddings) return texts;
  // A token of usual text has about as many bytes as a float32.
  return std::clamp<int64_t>(kVectorBytes / unit.identity.dim, 1, texts);
}

int64_t window_tokens(const JobUnit& unit, const Encoder& encoder) {
  if (!unit.identity.token_embeddings) return encoder.window_tokens();
  constexpr int64_t kFloatBytes = 4;
  return std::min(encoder.window_tokens(), kVectorBytes / (unit.identity.dim * kFloatBytes));
}

int64_t tokenizer_threads(const SpeedOptions& speed, bool on_cpu) {
  if (speed.tokenizer_threads > 0) return speed.tokenizer_threads;
  constexpr int64_t kEnoughForAnyGpu = 8;
  return on_cpu ? 1 : std::clamp<int64_t>(cpu_quota() - 2, 1, kEnoughForAnyGpu);
}

// Tokens that a prompt takes at the head of a sequence: its own and the special tokens before it,
// not one that closes the sequence. As sentence-transformers counts them.
int32_t prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  if (prompt.empty()) return 0;
  TokenizedRows rows;
  tokenizer.encode(prompt, {.max_length = 0, .add_special_tokens = true}, rows);
  tokenizer.encode(prompt, {.max_length = 0, .add_special_tokens = false}, rows);
  const auto with = rows.row(0);
  const auto without = rows.row(1);
  const bool closed = !with.empty() && (without.empty() || with.back() != without.back());
  return static_cast<int32_t>(with.size()) - (closed ? 1 : 0);
}

// The part that a row of the window belongs to, counted as PackedBatch counts rows.
WindowPart& part_of(Window& window, int64_t row) {
  auto part = window.parts.begin();
  for (; row >= part->rows.size(); ++part) row -= part->rows.size();
  return *part;
}

// What the vectors of a type with quantized products are compared with: the type of everything else
// in it. None for the other types.
std::optional<ComputeType> exact_type_of(ComputeType type) {
  if (type == ComputeType::kInt8) return ComputeType::kFloat32;
  if (type == ComputeType::kFp8) return ComputeType::kBFloat16;
  return std::nullopt;
}

std::vector<ChunkTask> tasks_of(const ChunkStore& store) {
  std::vector<ChunkTask> tasks;
  for (const int64_t index : store.pending())
    tasks.push_back({.index = index, .rows = store.chunk(index)});
  return tasks;
}

// Batches of a window whose products are timed: enough for every length of row, the longest of
// which come first, and few enough to run the model on.
constexpr size_t kTimedBatches = 8;

// `count` of the batches at even distances, or all.
std::vector<PackedBatch> spread(const std::vector<PackedBatch>& batches, size_t count) {
  count = std::min(count, batches.size());
  std::vector<PackedBatch> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(batches[i * batches.size() / count]);
  return chosen;
}

}  // namespace

bool UnitRunner::run(int64_t unit_number) {
  const JobUnit& unit = job_.units[static_cast<size_t>(unit_number)];
  load(unit_number);
  WorkerEvent started;
  started.kind = WorkerEvent::Kind::kUnitStarted;
  started.unit = unit_number;
  events_.send(started);

  std::unique_ptr<ChunkStore> store;
  std::unique_ptr<RowSink> sink;
  std::vector<ChunkTask> tasks = {{.index = 0, .rows = {0, unit.identity.rows}}};
  if (unit.chunk_files) {
    store =
        ChunkStore::open(job_.cache_dir, unit.identity, unit.chunk_rows, ChunkStore::Open::kResume);
    sink = chunk_sink(*store);
    tasks = tasks_of(*store);
  } else {
    sink = final_sink(unit);
    // No rows make no chunk, and the matrix is there all the same.
    if (unit.identity.rows == 0)
      begin_final(unit.final_path, unit.identity)->publish({}, encoder_->device_name());
  }

  unit_stats_ = {};
  unit_seconds_ = {};
  unit_rows_ = 0;
  unit_tokens_ = 0;
  unit_slots_ = 0;
  WindowProducer producer(unit, std::move(tasks), tokenize_plan(unit));
  CommitThread committer(*sink, events_, unit_number, encoder_->device_name());
  if (!encode_windows(unit_number, producer, committer)) return false;
  Stopwatch watch;
  committer.finish();
  unit_seconds_.commit_awaited += watch.lap();
  unit_seconds_.commit = committer.seconds();

  WorkerEvent done;
  done.kind = WorkerEvent::Kind::kUnitDone;
  done.unit = unit_number;
  done.rows_done = unit_rows_;
  done.stats = unit_stats_;
  done.stages = unit_seconds_;
  done.token_slots = unit_slots_;
  done.device_peak_bytes = encoder_->memory().peak_allocated_bytes;
  events_.send(done);
  return true;
}

bool UnitRunner::time_products(int64_t unit_number) {
  const JobUnit& unit = job_.units[static_cast<size_t>(unit_number)];
  load(unit_number);
  WindowProducer producer(unit, {{.index = 0, .rows = {0, unit.identity.rows}}},
                          tokenize_plan(unit));
  std::vector<PackedBatch> batches;
  if (const auto window = producer.next()) batches = spread(window->batches, kTimedBatches);
  const auto go_on = [&] { return !stop_.load(std::memory_order_relaxed); };
  WorkerEvent event;
  event.kind = WorkerEvent::Kind::kProducts;
  event.unit = unit_number;
  event.products = encoder_->time_products(batches, job_.product_seconds, go_on);
  if (!go_on()) return false;
  events_.send(event);
  return true;
}

TokenizePlan UnitRunner::tokenize_plan(const JobUnit& unit) const {
  const ModelDirectory directory = open_model_directory(unit.config.result.model);
  const EffectiveResult effective = effective_result(directory, unit.config.result);
  return {.tokenizer = tokenizer_.get(),
          .options = {.max_length = encoder_->max_length(),
                      .add_special_tokens = directory.add_special_tokens},
          .prompt = effective.prompt,
          .prompt_tokens = effective.include_prompt || tokenizer_ == nullptr
                               ? 0
                               : prompt_tokens(*tokenizer_, effective.prompt),
          .batch_tokens = encoder_->batch_tokens(),
          .window_text_bytes = window_text_bytes(unit),
          .window_tokens = window_tokens(unit, *encoder_),
          .threads = tokenizer_threads(unit.config.speed, encoder_->memory().total_bytes == 0)};
}

void UnitRunner::load(int64_t unit_number) {
  const JobUnit& unit = job_.units[static_cast<size_t>(unit_number)];
  ResultOptions key = unit.config.result;
  key.prompt.reset();
  key.prompt_name.reset();
  const bool has_texts = unit.scan.tokenized < unit.scan.rows;
  if (loaded_ == key && (tokenizer_ != nullptr || !has_texts)) return;
  const Stopwatch watch;
  wider_redo_.reset();  // two models need not fit at once
  encoder_.reset();
  const ModelDirectory directory = open_model_directory(unit.config.result.model);
  const EffectiveResult effective = effective_result(directory, unit.config.result);
  tokenizer_.reset();
  if (has_texts) tokenizer_ = load_tokenizer_from_directory(directory.transformer_path);
  const EncoderOptions options = {.result = unit.config.result,
                                  .hardware = job_.hardware,
                                  .threads = unit.config.speed.threads,
                                  .batch_tokens = wished_batch_tokens(unit, effective.max_length)};
  encoder_ = load_encoder(options);
  wider_redo_ = std::make_unique<WiderRedo>(options);
  loaded_ = std::move(key);
  WorkerEvent event;
  event.kind = WorkerEvent::Kind::kModelLoaded;
  event.unit = unit_number;
  event.device = encoder_->device_name();
  event.dim = encoder_->dim();
  event.seconds = watch.seconds();
  event.message = tokenizer_ != nullptr ? tokenizer_->description() : "";
  event.host_rss_bytes = resident_bytes();
  events_.send(event);
  for (const LoadNote& note : take_load_notes()) log(unit_number, note.level, note.message);
  if (job_.product_seconds > 0) return;  // no vector comes of it
  if (exact_type_of(options.result.dtype)) check_quantized(unit_number, options);
  self_test(unit_number);
}

void UnitRunner::check_quantized(int64_t unit_number, EncoderOptions options) {
  constexpr double kLeastCosine = 0.95;  // 0.98 and more are usual
  const std::string name(to_string(options.result.dtype));
  options.result.dtype = *exact_type_of(options.result.dtype);
  const std::string exact_name(to_string(options.result.dtype));
  const std::unique_ptr<Encoder> exact = load_encoder(options);
  const double cosine = least_cosine_of_fixed_texts(*exact, *encoder_, tokenizer_.get());
  if (cosine < kLeastCosine) {
    throw Error({.exit_code = ExitCode::kData,
                 .code = name + ".parity",
                 .what = name + " products change the vectors of this model too much",
                 .where = options.result.model,
                 .expected = "a cosine to " + exact_name + " of " + std::to_string(kLeastCosine) +
                             " at least, for fixed texts",
                 .found = std::to_string(cosine),
                 .hint = "use dtype bfloat16"});
  }
  log(unit_number, "warning",
      "dtype " + name + " is an approximation: fixed texts have a cosine of " +
          std::to_string(cosine) + " at least to their " + exact_name + " vectors");
}

void UnitRunner::self_test(int64_t unit_number) {
  const JobUnit& unit = job_.units[static_cast<size_t>(unit_number)];
  const Json fingerprint = Json::parse(unit.identity.fingerprint);
  const SelfTest test = run_self_test(
      *encoder_, tokenizer_.get(),
      fingerprint.value("model", Json()).dump() + fingerprint.value("result", Json()).dump(),
      job_.cache_dir + "/self_test.json");
  if (test.outcome == SelfTest::Outcome::kSame) {
    log(unit_number, "debug", "self-test: fixed texts have the vectors they had, to the bit");
  } else if (test.outcome == SelfTest::Outcome::kRounded) {
    log(unit_number, "warning",
        "self-test: vectors of fixed texts differ by up to " +
            Json(test.largest_difference).dump() +
            " from those that this cache began with; a driver, a library or this program has "
            "changed, so rows encoded from here on are not bit-identical to earlier ones");
  }
}

void UnitRunner::log(int64_t unit_number, const std::string& level, const std::string& message) {
  WorkerEvent event;
  event.kind = WorkerEvent::Kind::kLog;
  event.unit = unit_number;
  event.level = level;
  event.message = message;
  events_.send(event);
}

void UnitRunner::send_chunk_started(int64_t unit_number, const ChunkTask& chunk) {
  WorkerEvent event;
  event.kind = WorkerEvent::Kind::kChunkStarted;
  event.unit = unit_number;
  event.chunk = chunk.index;
  event.rows = chunk.rows;
  events_.send(event);
}

bool UnitRunner::encode_windows(int64_t unit_number, WindowProducer& producer,
                                CommitThread& committer) {
  Stopwatch watch;
  while (auto window = producer.next()) {
    unit_seconds_.rows_awaited += watch.lap();
    unit_seconds_.add(window->seconds);
    int64_t vectors = 0;
    for (const WindowPart& part : window->parts) {
      if (part.opens_chunk()) send_chunk_started(unit_number, part.chunk);
      vectors += part.vectors();
    }
    EncodedWindow encoded;
    encoded.dim = encoder_->dim();
    encoded.values.resize(static_cast<size_t>(vectors * encoded.dim));
    if (!encode_window(unit_number, *window, encoded.values)) return false;
    for (const WindowPart& part : window->parts) unit_stats_.add(part.stats);
    if (window->parts.back().closes_chunk()) {
      encoder_->release_cached_memory();
      encoded.memory = encoder_->memory();
    }
    encoded.parts = std::move(window->parts);
    encoded.seconds = watch.lap();
    unit_seconds_.encode += encoded.seconds;
    committer.push(std::move(encoded));
    unit_seconds_.commit_awaited += watch.lap();
  }
  return true;
}

bool UnitRunner::encode_window(int64_t unit_number, Window& window, std::span<float> values) {
  const auto batch_done = [&](const PackedBatch& batch) {
    unit_rows_ += batch.sequences();
    unit_tokens_ += batch.tokens();
    unit_slots_ += encoder_->token_slots(batch.tokens());
    WorkerEvent event;
    event.kind = WorkerEvent::Kind::kBatch;
    event.unit = unit_number;
    event.rows_done = unit_rows_;
    event.tokens_done = unit_tokens_;
    events_.send(event);
    return !stop_.load(std::memory_order_relaxed);
  };
  const auto go_on = [&](const PackedBatch&) { return !stop_.load(std::memory_order_relaxed); };
  try {
    if (!encoder_->encode(window.batches, values, batch_done)) return false;
    const WiderRedo::Outcome redo = wider_redo_->run(window.batches, *encoder_, values, go_on);
    if (!redo.finished) return false;
    for (const int64_t row : redo.redone) ++part_of(window, row).stats.redone_rows;
    if (!redo.redone.empty()) {
      log(unit_number, "warning",
          std::to_string(redo.redone.size()) + " of the rows from " +
              std::to_string(window.first_row()) +
              " on were not finite and are computed in float32");
    }
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    detail.where += " that begins at row " + std::to_string(window.first_row()) + " of " +
                    job_.units[static_cast<size_t>(unit_number)].config.name();
    throw Error(std::move(detail));
  }
  for (const WindowPart& part : window.parts)
    unit_rows_ += part.stats.zero_token_rows;  // in no batch
  return true;
}

}  // namespace encode
