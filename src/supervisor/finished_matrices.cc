#include "supervisor/finished_matrices.h"

#include <fmt/format.h>
#include <optional>

#include "encode/store.h"

#include "base/units.h"
#include "config/schema.h"
#include "run_plan/final_outlook.h"
#include "run_plan/leavings.h"

namespace encode {
namespace {

FinishedMatrix matrix_of(const StreamPlan& stream, const StoreOptions& store,
                         const StreamRate& rate) {
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  const RowStats stats = manifest ? manifest->stats : RowStats{};
  const int64_t rows = manifest ? manifest->identity.rows - manifest->dropped_rows : 0;
  return {
      .name = stream.config.name(),
      .path = stream.final_path,
      .rows_in = stream.scan.rows_in,
      .rejected = stream.scan.rejected,
      .rejected_path = lasting_list(store, stream.rejected_path),
      .filtered = stream.scan.filtered,
      .dropped = manifest ? manifest->dropped_rows : 0,
      .rows = rows,
      .dim = stream.identity.dim,
      .tokens = stats.tokens,
      .truncation = {.rows = rows,
                     .truncated_rows = stats.truncated_rows,
                     .tokens = stats.tokens,
                     .lost_tokens = stats.lost_tokens,
                     .max_length = most_tokens(stream.effective),
                     .position_limit = stream.position_limit,
                     .of_passages = stream.effective.passages.has_value()},
      .tokens_per_second = rate.seconds > 0 ? static_cast<double>(rate.tokens) / rate.seconds : 0,
      .empty_rows = {.empty = stream.scan.empty, .blank = stream.scan.blank},
      .passages = stats.passages};
}

FinishedMatrix matrix_of(const CombinePlan& combine) {
  const std::optional<Manifest> manifest = read_manifest(combine.path);
  FinishedMatrix matrix;
  matrix.name = combine.name;
  matrix.path = combine.path;
  matrix.rows = manifest ? manifest->vectors() : 0;
  matrix.rows_in = matrix.rows;
  matrix.dim = manifest ? manifest->identity.dim : 0;
  matrix.combined = true;
  return matrix;
}

}  // namespace

std::vector<FinishedMatrix> finished_matrices(const StoreOptions& store, const RunPlan& plan,
                                              const RunReporter& reporter) {
  std::vector<FinishedMatrix> matrices;
  for (size_t i = 0; i < plan.streams.size(); ++i)
    matrices.push_back(matrix_of(plan.streams[i], store, reporter.rate(i)));
  for (const CombinePlan& combine : plan.combine) matrices.push_back(matrix_of(combine));
  return matrices;
}

void warn_of_truncation(const RunSummary& summary, const RunConfig& config, RunLog& log) {
  const std::string new_output = another_output(config.store, config.streams.front());
  for (const FinishedMatrix& matrix : summary.matrices) {
    const Truncation& cut = matrix.truncation;
    if (cut.truncated_rows == 0) continue;
    const std::string max_length = setting_name(cut.key(), config.config_path.empty());
    log.warning("truncated",
                fmt::format("{}: {}; to lose less, {}", matrix.name,
                            describe(cut, format_count(cut.rows, "row", "rows")),
                            truncation_advice(cut, max_length, new_output)),
                {{"stream", matrix.name},
                 {"rows", cut.rows},
                 {"truncated_rows", cut.truncated_rows},
                 {"tokens", cut.tokens},
                 {"lost_tokens", cut.lost_tokens},
                 {"max_length", cut.max_length}});
  }
}

}  // namespace encode
