#include "job/window_encoder.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"

#include "base/half.h"
#include "base/units.h"
#include "batching/repack.h"
#include "job/skip_list.h"
#include "job/vector_check.h"

namespace encode {
namespace {

// After this number of rows in a row that do not fit on the device, no row fits.
constexpr int64_t kMostRowsTooLarge = 8;
// An event has at most this number of rows, so that its line stays short.
constexpr size_t kEventRows = 64;

int64_t tokens_of(const PackedBatch& batch, size_t sequence) {
  return batch.cu_seqlens[sequence + 1] - batch.cu_seqlens[sequence];
}

// Takes a row with this number of tokens out of the counts of its part.
void uncount(WindowPart& part, int64_t row, int64_t tokens) {
  part.stats.tokens -= tokens;
  ++part.stats.set_aside_rows;
  if (!part.row_tokens.empty()) part.row_tokens[static_cast<size_t>(row - part.rows.begin)] = 0;
  const auto cut = std::find_if(part.truncated.begin(), part.truncated.end(),
                                [row](const TruncatedRow& other) { return other.row == row; });
  if (cut == part.truncated.end()) return;
  --part.stats.truncated_rows;
  part.stats.lost_tokens -= cut->lost_tokens;
  part.truncated.erase(cut);
}

// Leaves the vectors of the skipped tokens out of `values` and out of the counts of their rows.
void leave_out_skipped(Window& window, int64_t dim, std::vector<float>& values) {
  auto next = window.skipped.begin();
  int64_t row_end = 0;  // in tokens of the window
  for (WindowPart& part : window.parts) {
    for (int32_t& tokens : part.row_tokens) {
      row_end += tokens;
      const auto first = next;
      next = std::lower_bound(first, window.skipped.end(), row_end);
      tokens -= static_cast<int32_t>(next - first);
      part.stats.tokens -= next - first;
    }
  }
  erase_vectors(window.skipped, dim, values);
  window.skipped.clear();
}

// Equal rows fail alike.
void add_duplicates(const Window& window, std::vector<SetAsideRow>& rows) {
  std::map<int64_t, SetAsideRow> firsts;
  for (const SetAsideRow& row : rows) firsts[row.row] = row;
  for (const DuplicateRow& duplicate : window.duplicates) {
    const auto first = firsts.find(duplicate.first);
    if (first == firsts.end()) continue;
    rows.push_back(first->second);
    rows.back().row = duplicate.row;
  }
}

}  // namespace

// One window while it is encoded. Rows are numbered as in PackedBatch.
struct WindowEncoder::Attempt {
  Window& window;
  std::span<float> values;
  std::vector<bool> settled;          // [rows of the window], encoded or set aside
  std::span<const PackedBatch> left;  // the batches to encode: the window's, or `repacked`
  std::vector<PackedBatch> repacked = {};
  bool alone = false;                       // each batch has one sequence and is encoded by itself
  std::vector<SetAsideRow> set_aside = {};  // `row` counts from the start of the window
  std::set<int64_t> redone = {};            // computed again in float32
  int64_t cached = 0;                       // the rows that the embedding cache had

  void use(std::vector<PackedBatch> batches) {
    repacked = std::move(batches);
    left = repacked;
  }
  void put_aside(int64_t row, ErrorCode code, std::string message) {
    settled[static_cast<size_t>(row)] = true;
    set_aside.push_back({.row = row, .code = std::string(code.name()), .message = std::move(message)});
  }
  std::function<bool(int64_t)> is_settled() const {
    return [this](int64_t row) { return settled[static_cast<size_t>(row)]; };
  }
  std::function<bool(int64_t)> is_set_aside() const {
    std::set<int64_t> rows;
    for (const SetAsideRow& row : set_aside) rows.insert(row.row);
    return [rows = std::move(rows)](int64_t row) { return rows.contains(row); };
  }
};

WindowEncoder::WindowEncoder(const WorkerContext& context, int64_t unit, LoadedModel& model,
                             CacheSession& cache)
    : context_(context),
      number_(unit),
      unit_(context.unit(unit)),
      model_(model),
      reuse_(cache, *model.encoder),
      plan_(batch_plan_of(unit_, model.encoder->device())),
      first_budget_(plan_.budget_tokens) {}

bool WindowEncoder::encode(Window& window, std::vector<float>& values, const Progress& progress) {
  const int64_t cached = reuse_.take_cached(window, values, plan_.budget_tokens);
  Attempt attempt{.window = window,
                  .values = values,
                  .settled = std::vector<bool>(static_cast<size_t>(window.rows().size())),
                  .left = window.batches,
                  .cached = cached};
  if (plan_.budget_tokens < first_budget_)
    attempt.use(repack(window.batches, plan_.budget_tokens, attempt.is_settled()));
  while (!attempt.left.empty()) {
    if (!encode_rows(attempt, progress)) return false;
  }
  if (!redo_in_float32(attempt, progress)) return false;
  if (unit_.effective.vector_precision == VectorPrecision::kFloat16) round_to_half(attempt.values);
  check_vectors(attempt);
  const auto is_set_aside = attempt.is_set_aside();
  reuse_.put(window, values, is_set_aside,
             [&attempt](int64_t row) { return attempt.redone.contains(row); });
  reuse_.copy_duplicates(window, values, is_set_aside);
  if (!attempt.set_aside.empty()) set_aside(window, values, std::move(attempt.set_aside));
  if (!window.skipped.empty()) leave_out_skipped(window, model_.encoder->dim(), values);
  return true;
}

// Encodes until the end or the first failure.
bool WindowEncoder::encode_rows(Attempt& attempt, const Progress& progress) {
  const auto on_batch = [&](const PackedBatch& batch) {
    for (const int64_t row : batch.rows) attempt.settled[static_cast<size_t>(row)] = true;
    rows_too_large_ = 0;
    tried_again_ = false;
    return progress.batch_done(batch);
  };
  const size_t count = attempt.alone ? 1 : attempt.left.size();
  try {
    if (!model_.encoder->encode(attempt.left.first(count), attempt.values, on_batch)) return false;
    attempt.left = attempt.left.subspan(count);
    return true;
  } catch (...) {
    recover(attempt, current_failure());
    return true;
  }
}

// Must be called in a catch block. Throws the exception again if the worker cannot go on.
void WindowEncoder::recover(Attempt& attempt, const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::kNvml:
      if (nvml_failed_) throw;
      nvml_failed_ = true;
      [[fallthrough]];
    case FailureKind::kOutOfDeviceMemory:
      model_.encoder->release_cached_memory();
      smaller_batches(attempt, failure.error);
      return;
    case FailureKind::kOther:
      // The encoder has refused a row. Alone, each row is refused or encoded by itself.
      if (failure.error.exit_code != ExitCode::kData) throw;
      skip_row(attempt, failure.error);
      return;
    case FailureKind::kDeviceLost:
      throw;
  }
}

// After a batch that did not fit: halves the budget. If it cannot be halved, the batch is tried
// once more, because the memory may have been needed only for a moment, by another program or by
// blocks that are released now. If it fails again, each row gets a batch of its own, and a row that
// does not fit then is set aside.
void WindowEncoder::smaller_batches(Attempt& attempt, const ErrorDetail& error) {
  const BatchPlan half = halved(plan_);
  if (!attempt.alone && half.budget_tokens < plan_.budget_tokens) {
    plan_ = half;
    context_.events.send(BatchHalved{.unit = number_, .budget_tokens = plan_.budget_tokens});
    attempt.use(repack(attempt.window.batches, plan_.budget_tokens, attempt.is_settled()));
    return;
  }
  if (!attempt.alone && !tried_again_) {
    tried_again_ = true;
    context_.log("warning", fmt::format("{}: the device is out of memory; the batch is tried again",
                                        unit_.identity.name));
    attempt.use(repack(attempt.window.batches, plan_.budget_tokens, attempt.is_settled()));
    return;
  }
  if (attempt.alone && ++rows_too_large_ >= kMostRowsTooLarge) throw Error(error);
  skip_row(attempt, error);
}

// Sets the row aside that has failed alone, or gives each row that is left a batch of its own.
void WindowEncoder::skip_row(Attempt& attempt, const ErrorDetail& error) {
  if (!attempt.alone) {
    attempt.use(one_by_one(attempt.window.batches, attempt.is_settled()));
    attempt.alone = true;
    return;
  }
  const PackedBatch& batch = attempt.left.front();
  attempt.put_aside(
      batch.rows.front(), error.code,
      fmt::format("{} ({})", error.what, format_count(batch.tokens(), "token", "tokens")));
  attempt.left = attempt.left.subspan(1);
}

bool WindowEncoder::redo_in_float32(Attempt& attempt, const Progress& progress) {
  Window& window = attempt.window;
  const auto go_on = [&progress](const PackedBatch& /*batch*/) { return progress.go_on(); };
  WiderRedo::Outcome redo;
  try {
    redo = model_.wider_redo->run(
        {.batches = window.batches, .values = attempt.values, .batch_tokens = plan_.budget_tokens},
        *model_.encoder, go_on);
  } catch (...) {
    const Failure failure = current_failure();
    if (failure.kind != FailureKind::kOutOfDeviceMemory) throw;
    model_.encoder->release_cached_memory();
    context_.log("warning",
                 "the device has no memory for the float32 model, which would compute "
                 "rows again that are not finite");
  }
  for (const LoadNote& note : redo.notes) context_.log(note.level, note.message);
  if (!redo.finished) return false;
  for (const int64_t row : redo.redone) window.count_redone(row);
  attempt.redone = {redo.redone.begin(), redo.redone.end()};
  if (redo.redone.empty()) return true;
  context_.log("warning", fmt::format("in the window from row {}, {} had values that were "
                                      "not finite; they were computed again in float32",
                                      window.rows().begin,
                                      format_count(std::ssize(redo.redone), "row", "rows")));
  return true;
}

void WindowEncoder::check_vectors(Attempt& attempt) const {
  const auto dim = static_cast<size_t>(model_.encoder->dim());
  const bool tokens = model_.encoder->token_embeddings();
  const VectorRules rules = vector_rules(model_.directory, unit_.effective);
  const auto is_set_aside = attempt.is_set_aside();
  int64_t good = attempt.cached;
  int64_t bad = 0;
  for (const PackedBatch& batch : attempt.window.batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const int64_t row = batch.rows[b];
      if (is_set_aside(row)) continue;
      const auto first = static_cast<size_t>(tokens ? batch.token_offsets[b] : row) * dim;
      const auto count = tokens ? static_cast<size_t>(tokens_of(batch, b)) : size_t{1};
      const std::optional<BadVector> wrong =
          check_vector(attempt.values.subspan(first, count * dim), rules);
      if (!wrong) {
        ++good;
        continue;
      }
      ++bad;
      attempt.put_aside(row, wrong->code, wrong->message);
    }
  }
  if (good > 0 || bad < 2) return;
  const SetAsideRow& first = attempt.set_aside.back();
  throw Error({.code = "vectors.all_bad",
               .what = "no row of a window has a good vector",
               .where = fmt::format("{}, rows {} to {}", unit_.identity.name,
                                    attempt.window.rows().begin, attempt.window.rows().end - 1),
               .expected = "finite vectors that are not 0",
               .found = fmt::format("{}: {}", first.code, first.message),
               .hint = "check the model's files; float16 holds numbers up to 65504, so try dtype "
                       "bfloat16 or float32 if the model is not float32"});
}

// Puts zeros in place of the rows and their duplicates, or removes their vectors (token
// embeddings), and tells the supervisor.
void WindowEncoder::set_aside(Window& window, std::vector<float>& values,
                              std::vector<SetAsideRow> rows) const {
  const auto dim = model_.encoder->dim();
  std::map<int64_t, std::pair<int64_t, int64_t>> tokens;  // row -> first token and their number
  for (const PackedBatch& batch : window.batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b)
      tokens[batch.rows[b]] = {batch.token_offsets[b], tokens_of(batch, b)};
  }
  for (const DuplicateRow& duplicate : window.duplicates)
    tokens[duplicate.row] = {duplicate.token_offset, duplicate.tokens};
  add_duplicates(window, rows);
  std::sort(rows.begin(), rows.end(),
            [](const SetAsideRow& a, const SetAsideRow& b) { return a.row > b.row; });
  const int64_t first_row = window.rows().begin;
  for (SetAsideRow& row : rows) {
    const auto [first_token, count] = tokens.at(row.row);
    if (model_.encoder->token_embeddings()) {
      values.erase(values.begin() + first_token * dim,
                   values.begin() + (first_token + count) * dim);
      erase_tokens(window.skipped, first_token, count);
    } else {
      std::fill_n(values.begin() + row.row * dim, dim, 0.0F);
    }
    WindowPart& part = window.part_of(row.row);
    row.row += first_row;
    uncount(part, row.row, count);
    part.set_aside.push_back(row);
  }
  std::reverse(rows.begin(), rows.end());
  for (WindowPart& part : window.parts) {
    std::sort(part.set_aside.begin(), part.set_aside.end(),
              [](const SetAsideRow& a, const SetAsideRow& b) { return a.row < b.row; });
  }
  for (size_t begin = 0; begin < rows.size(); begin += kEventRows) {
    const auto end = std::min(rows.size(), begin + kEventRows);
    context_.events.send(RowsSetAside{.unit = number_,
                                      .rows = {rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                               rows.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
}

}  // namespace encode
