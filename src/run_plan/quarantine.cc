#include "run_plan/quarantine.h"

#include <fmt/format.h>
#include <map>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

[[noreturn]] void refuse(const std::string& policy, std::string expected, std::string found) {
  throw Error({.code = "config.quarantine",
               .what = fmt::format("quarantine: {} cannot be applied to this run", policy),
               .where = "--quarantine (semantic.quarantine)",
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "give --quarantine error (semantic.quarantine: error in a config)"});
}

}  // namespace

void check_quarantine(const StoreOptions& options, const RunPlan& plan) {
  if (options.quarantine == QuarantinePolicy::kError) return;
  const std::string policy(to_string(options.quarantine));
  if (!options.chunked())
    refuse(policy, "a run in chunks (use_chunked_encoding: true and save_chunks: true in a config)",
           "the standard mode, which saves no chunks (--standard)");
  if (options.quarantine != QuarantinePolicy::kDrop) return;
  for (const std::vector<size_t>& split : streams_of_splits(plan)) {
    const StreamPlan& first = plan.streams[split.front()];
    for (const size_t i : split) {
      const StreamPlan& stream = plan.streams[i];
      if (stream.identity.has_offsets()) {
        refuse(policy, "one vector for each row",
               stream.config.name() + (stream.identity.passages ? " has a vector for each passage"
                                                                : " has a vector for each token"));
      }
      if (stream.identity.rows != first.identity.rows) {
        refuse(policy,
               fmt::format("{}, as in {}", format_count(first.identity.rows, "row", "rows"),
                           first.config.name()),
               fmt::format("{} in {}", format_count(stream.identity.rows, "row", "rows"),
                           stream.config.name()));
      }
    }
  }
}

std::vector<std::vector<size_t>> streams_of_splits(const RunPlan& plan) {
  std::map<std::string, std::vector<size_t>> splits;
  for (size_t i = 0; i < plan.streams.size(); ++i)
    splits[plan.streams[i].config.split].push_back(i);
  std::vector<std::vector<size_t>> all;
  for (auto& [name, streams] : splits) all.push_back(std::move(streams));
  return all;
}

std::vector<SetAsideRow> rows_of_split(const std::vector<std::string>& names,
                                       const std::vector<std::vector<SetAsideRow>>& own) {
  std::map<int64_t, SetAsideRow> rows;
  for (size_t i = 0; i < own.size(); ++i) {
    for (SetAsideRow row : own[i]) {
      const std::string mark = "in " + names[i] + ": ";
      if (!row.message.starts_with("in ")) row.message.insert(0, mark);
      rows.emplace(row.row, std::move(row));
    }
  }
  std::vector<SetAsideRow> all;
  for (auto& [number, row] : rows) all.push_back(std::move(row));
  return all;
}

Error rows_set_aside_error(const std::string& stream, const std::vector<SetAsideRow>& rows,
                           const std::string& folder) {
  const SetAsideRow& first = rows.front();
  return Error(
      {.code = "run.rows_set_aside",
       .what = rows.size() == 1
                   ? fmt::format("row {} of {} could not be encoded; all other rows are", first.row,
                                 stream)
                   : fmt::format("{} rows of {} could not be encoded; all other rows are",
                                 format_count(std::ssize(rows)), stream),
       .where = folder,
       .expected = "a vector for every row",
       .found = fmt::format("row {}: [{}] {}", first.row, preview(first.code),
                            preview(first.message, 300)),
       .hint = "correct the input or the device and run encode retry-failed; or run the same "
               "command again with --quarantine zeros or drop (semantic.quarantine in the config), "
               "which needs no model"});
}

}  // namespace encode
