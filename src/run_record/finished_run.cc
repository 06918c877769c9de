#include "run_record/finished_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "base/utf8.h"
#include "run_record/fault_log.h"
#include "run_record/memory_log.h"
#include "store/layout.h"
#include "store/run_files.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr std::string_view kKind = "finished_run";
constexpr int64_t kMaxRunFileBytes = 4 << 20;
constexpr size_t kMostRecords = 100;
constexpr ErrorCode kCode = "io.read";

template <typename Read>
void if_readable(const Read& read) {
  try {
    read();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the record helps people only
  }
}

// Keeps the newest records.
Records newest(Records records) {
  if (records.lines.size() <= kMostRecords) return records;
  const auto surplus = static_cast<std::ptrdiff_t>(records.lines.size() - kMostRecords);
  records.lines.erase(records.lines.begin(), records.lines.begin() + surplus);
  records.dropped = true;
  return records;
}

// Keeps the first sample, the last one and evenly spaced ones between them, and the last warnings.
Records thinned(Records records) {
  const auto warnings =
      std::stable_partition(records.lines.begin(), records.lines.end(),
                            [](const Json& line) { return !line.contains("warning"); });
  const auto samples = static_cast<size_t>(warnings - records.lines.begin());
  std::vector<Json> kept =
      evenly_spaced(std::span<const Json>(records.lines).first(samples), kMostRecords);
  const size_t first_warning =
      std::max(samples, records.lines.size() - std::min(records.lines.size(), kMostRecords));
  for (size_t i = first_warning; i < records.lines.size(); ++i) kept.push_back(records.lines[i]);
  records.dropped = records.dropped || kept.size() < records.lines.size();
  records.lines = std::move(kept);
  return records;
}

Json to_json(const Records& records) {
  return {{"dropped", records.dropped}, {"lines", records.lines}};
}

Records records_from(const JsonFields& fields, const std::string& key, const std::string& path) {
  const JsonFields part(fields.object(key), path, kCode);
  Records records;
  records.dropped = part.boolean_or("dropped", false);
  for (const Json& line : part.array("lines")) {
    if (line.is_object()) records.lines.push_back(line);
  }
  return records;
}

}  // namespace

std::string finished_run_path(const std::string& output) {
  return hidden_beside(output, ".run.json");
}

FinishedRun collect_finished_run(const std::string& cache_dir) {
  const RunFiles files(cache_dir);
  FinishedRun run;
  run.status = Json::object();
  if_readable([&] {
    run.status = read_json_file(files.status(), {.max_bytes = 1 << 20, .max_depth = 8}, kCode);
  });
  run.faults = newest(read_fault_records(files.faults()));
  run.memory = thinned(read_memory_records(files.memory()));
  return run;
}

void write_finished_run(const std::string& output, const FinishedRun& run) {
  const Json json = {{"kind", kKind},
                     {"format", kFormat},
                     {"xxh3_128", run.xxh3_128},
                     {"model", run.model},
                     {"status", run.status},
                     {"faults", to_json(run.faults)},
                     {"memory", to_json(run.memory)}};
  write_file_durably(finished_run_path(output), seal(json) + "\n");
}

std::optional<FinishedRun> read_finished_run(const std::string& output) {
  const std::string path = finished_run_path(output);
  if (!path_exists(path, kCode)) return std::nullopt;
  std::string text = read_file(path, kMaxRunFileBytes, kCode);
  if (text.ends_with('\n')) text.pop_back();
  const Json json = unseal(text, path);
  const JsonFields fields(json, path, kCode);
  if (const int64_t format = fields.integer("format", 1, kMaxInteger); format != kFormat) {
    throw Error({.code = "store.format",
                 .what = "another version of encode wrote this file",
                 .where = path,
                 .expected = fmt::format("format {}", kFormat),
                 .found = fmt::format("format {}", format),
                 .hint = fmt::format("use a newer version of encode: this one reads only format {}",
                                     kFormat)});
  }
  FinishedRun run;
  run.xxh3_128 = fields.string("xxh3_128");
  run.model = fields.string("model");
  run.status = fields.object("status");
  run.faults = records_from(fields, "faults", path);
  run.memory = records_from(fields, "memory", path);
  return run;
}

bool is_foreign_finished_run(const std::string& output) {
  const std::string path = finished_run_path(output);
  if (!entry_exists(path, kCode)) return false;
  if (path_kind(path, kCode) != PathKind::kFile) return true;
  constexpr int64_t kHeadBytes = 256;
  const std::string head = read_head(path, kHeadBytes, kCode);
  return may_begin_text(head) && !head.starts_with(R"({"checksum":")") && !head.empty();
}

}  // namespace encode
