#include "job/window_encoder.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/half.h"
#include "base/units.h"
#include "batching/repack.h"
#include "job/failure.h"
#include "job/vector_check.h"

namespace encode {
namespace {

// An event has at most this number of rows, so that its line stays short.
constexpr size_t kEventRows = 64;

// Returns values for all vectors of a window, which are 0. Uses `memory` if its size fits.
WindowValues zeros_for(const Window& window, const Encoder& encoder, std::vector<float> memory) {
  const auto size = static_cast<size_t>(window.vectors() * encoder.dim());
  if (memory.capacity() < size || memory.capacity() / 2 > size) memory = {};
  memory.assign(size, 0.0F);
  return {.dim = encoder.dim(), .floats = std::move(memory)};
}

// Returns the row of a sequence; rows are numbered in their window, or, if they are cut into
// passages, in the input.
int64_t row_of(const PackedSequence& sequence, const Window& window) {
  if (!window.parts.front().passages) return sequence.number;
  int64_t passage = sequence.first_vector;
  auto part = window.parts.begin();
  for (; passage >= std::ssize(*part->passages); ++part) passage -= std::ssize(*part->passages);
  return (*part->passages)[static_cast<size_t>(passage)].row;
}

bool are_of_one_row(std::span<const FailedSequence> sequences, const Window& window) {
  std::set<int64_t> rows;
  for (const FailedSequence& sequence : sequences) rows.insert(row_of(sequence.place, window));
  return rows.size() < 2;
}

}  // namespace

WindowEncoder::WindowEncoder(const WorkerContext& context, int64_t unit, LoadedModel& model,
                             CacheSession& cache)
    : context_(context),
      number_(unit),
      unit_(context.unit(unit)),
      model_(model),
      cache_(cache),
      rules_(vector_rules(model.directory, unit_.effective)),
      loop_(context, unit, *model.encoder) {}

std::optional<WindowVectors> WindowEncoder::encode(Window window, const Progress& progress,
                                                   std::vector<float> memory) {
  WindowValues values = zeros_for(window, *model_.encoder, std::move(memory));
  const WindowCache cache(cache_, window.keys);
  const CacheHits hits = cache.find(packed_sequences(window.batches), values);
  if (!hits.sequences.empty()) {
    window.batches = repack(window.batches, plan().budget_tokens,
                            [&hits](int64_t number) { return hits.sequences.contains(number); });
  }
  WindowCheck check(values, rules_, unit_.effective.vector_precision);
  const auto batch_done = [&check, &progress](const PackedBatch& batch) {
    check.add(batch);
    return progress.batch_done(batch);
  };
  std::optional<std::vector<FailedSequence>> failed =
      loop_.run(window.batches, values.floats, batch_done, progress.next);
  if (!failed) return std::nullopt;
  std::optional<std::set<int64_t>> redone =
      redo_in_float32(window, check.not_finite(), values, progress);
  if (!redone) return std::nullopt;

  const CheckedSequences checked = check.result(without(packed_sequences(window.batches), *failed));
  require_a_good_row(checked, hits, window);
  cache.put(checked.good, *redone, values);
  failed->insert(failed->end(), checked.bad.begin(), checked.bad.end());
  const ReusedSequences copied = copy_duplicates(window.duplicates, *failed, values);

  redone->insert(hits.redone.begin(), hits.redone.end());
  std::vector<SetAsideRow> refused;
  for (const WindowPart& part : window.parts)
    refused.insert(refused.end(), part.refused.begin(), part.refused.end());
  WindowVectors result = finish(std::move(window), std::move(values), std::move(*failed), *redone);
  result.reused = {.sequences = std::ssize(hits.sequences) + copied.sequences,
                   .tokens = hits.tokens + copied.tokens};
  if (unit_.effective.row_vector == RowVector::kMean &&
      unit_.effective.vector_precision == VectorPrecision::kFloat16)
    round_to_half(result.values);
  tell_set_aside(refused);
  tell_set_aside(result.set_aside);
  return result;
}

// Returns the numbers of the sequences that were computed again, or nullopt to stop.
std::optional<std::set<int64_t>> WindowEncoder::redo_in_float32(
    const Window& window, std::span<const PackedSequence> sequences, WindowValues& values,
    const Progress& progress) {
  if (sequences.empty()) return std::set<int64_t>();
  const auto go_on = [&progress](const PackedBatch& /*batch*/) { return progress.go_on(); };
  WiderRedo::Outcome redo;
  try {
    redo = model_.wider_redo->run(
        {.batches = window.batches, .sequences = sequences, .batch_tokens = plan().budget_tokens},
        values, go_on);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.kind != FailureKind::kOutOfDeviceMemory) throw;
    model_.encoder->release_cached_memory();
    context_.log(LogLevel::kWarning,
                 "the device has no memory for the float32 model, which would compute "
                 "rows again that are not finite");
  }
  for (const LoadNote& note : redo.notes) context_.log(note.level, note.message);
  if (!redo.finished) return std::nullopt;
  if (!redo.redone.empty()) {
    context_.log(
        LogLevel::kWarning,
        fmt::format("of the rows from row {} on, {} had values that were not "
                    "finite; they were computed again in float32",
                    window.rows().begin, format_count(std::ssize(redo.redone), "row", "rows")));
  }
  return std::move(redo.redone);
}

// Throws Error kData "vectors.all_bad" if every row of the window is bad. One bad row alone may be
// the row's own fault. If the cache had a row of the window, does nothing, because the vectors in
// the cache are good.
void WindowEncoder::require_a_good_row(const CheckedSequences& checked, const CacheHits& hits,
                                       const Window& window) const {
  if (!hits.sequences.empty() || !checked.good.empty() || are_of_one_row(checked.bad, window))
    return;
  const FailedSequence& last = checked.bad.back();
  const RowRange rows = window.rows();
  throw Error(
      {.code = "vectors.all_bad",
       .what = "no row has a usable embedding",
       .where = fmt::format("{}, rows {} to {}", unit_.identity.name, rows.begin, rows.end - 1),
       .expected = "finite vectors that are not 0",
       .found = fmt::format("{}: {}", last.code.name(), last.message),
       .hint = kBadVectorsHint});
}

void WindowEncoder::tell_set_aside(std::span<const SetAsideRow> rows) const {
  for (size_t begin = 0; begin < rows.size(); begin += kEventRows) {
    const auto some = rows.subspan(begin, std::min(kEventRows, rows.size() - begin));
    context_.events.send(RowsSetAside{.unit = number_, .rows = {some.begin(), some.end()}});
  }
}

}  // namespace encode
