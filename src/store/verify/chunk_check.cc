#include "store/verify/chunk_check.h"

#include <fmt/format.h>
#include <optional>

#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "store/audit.h"

namespace encode {
namespace {

std::optional<ChunkFolder> read_folder(const std::string& directory, Findings& findings) {
  try {
    return read_chunk_folder(directory);
  } catch (const Error& error) {
    const ExitCode code = error.exit_code();
    if (code == ExitCode::kIoError || code == ExitCode::kNoPermission) throw;
    findings.check("chunk_stream", false,
                   {.expected = "a valid stream.json", .found = error.detail().what},
                   error.detail().where);
    return std::nullopt;
  }
}

}  // namespace

void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings) {
  const std::string directory = chunks_dir(cache_dir, matrix.name);
  if (!is_directory(directory, "store.chunk")) return;
  const std::optional<ChunkFolder> folder = read_folder(directory, findings);
  if (!folder) return;
  if (matrix.fingerprint) {
    findings.check_fingerprint("chunk_fingerprint", folder->identity, *matrix.fingerprint,
                               directory);
  }
  for (const std::string& problem : folder->log_problems) {
    findings.warn("chunk_log", "valid records", problem, "the next run encodes that chunk again");
  }
  for (const ChunkFolder::Damage& damage : folder->damaged)
    findings.check("chunk_files", false,
                   {.expected = "a chunk that agrees with its record", .found = damage.wrong},
                   damage.path);
  const std::string records =
      format_count(folder->records, "record of a chunk", "records of chunks");
  if (folder->damaged.empty())
    findings.check("chunk_files", true, {.expected = records, .found = records});
  const std::string expected =
      format_count(folder->chunk_count, "record", "records") + ", one for each chunk";
  if (!folder->has_each_once && final_is_complete) {
    findings.warn("chunk_tiling", expected, records,
                  "the matrix is complete; an interrupted clean-up left these chunks");
  } else {
    findings.check("chunk_tiling", folder->has_each_once, {.expected = expected, .found = records},
                   fmt::format("the stream is not finished: `{}` says how far it is, and the same "
                               "`encode run` goes on",
                               shell_command({"encode", "status", cache_dir})));
  }
  for (const std::string& name : folder->strays) {
    findings.warn("chunk_strays", "only files that a record mentions", name,
                  fmt::format("{}/{}", directory, name));
  }
}

std::string advice_on_unfinished(const std::string& path, const std::string& cache_dir) {
  const bool own = !own_run_dir(path).empty();
  if (!own && (cache_dir.empty() || !has_run(cache_dir))) return "";
  return fmt::format(
      "the run has not finished this matrix: `{}` says how far it is, and the same `encode run` "
      "goes on",
      shell_command({"encode", "status", own ? path : cache_dir}));
}

void check_cache_dir(const std::string& cache_dir, Findings& findings) {
  if (!is_directory(cache_dir, "store.chunk")) return;
  for (const std::string& name : list_directory(cache_dir)) {
    if (!temp_file_target(name)) continue;
    findings.warn("cache_strays", "no temporary files", name,
                  "a crash left this file; the next run deletes it");
  }
}

}  // namespace encode
