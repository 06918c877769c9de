#include "verify/chunk_check.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "encode/store.h"

#include "base/file.h"
#include "store/layout.h"
#include "store/records.h"
#include "store/recovery.h"

namespace encode {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::optional<StreamFile> check_stream_file(const ExpectedMatrix& matrix, const std::string& path,
                                            Findings& findings) {
  try {
    StreamFile stream = read_stream_file(path);
    if (matrix.fingerprint) {
      findings.check_fingerprint("chunk_fingerprint", stream.identity, *matrix.fingerprint, path);
    }
    return stream;
  } catch (const Error& error) {
    findings.check("chunk_stream", false,
                   {.expected = "a whole stream.json", .found = error.detail().what}, path);
    return std::nullopt;
  }
}

// `known`: every chunk with a record.
void check_strays(const std::string& directory, const std::map<int64_t, ChunkRecord>& known,
                  Findings& findings) {
  std::set<std::string> expected = {std::string(kLogFile), std::string(kStreamFile)};
  for (const auto& [index, record] : known) {
    expected.insert(chunk_file_name(index));
    if (record.ledger) expected.insert(chunk_ledger_name(index));
    if (record.offsets) expected.insert(chunk_offsets_name(index));
  }
  for (const std::string& name : list_directory(directory)) {
    if (!expected.contains(name)) {
      findings.warn("chunk_strays", "no other files", name, join_path(directory, name));
    }
  }
}

}  // namespace

void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings) {
  const std::string directory = chunks_dir(cache_dir, matrix.name);
  if (!is_directory(directory)) return;
  const std::optional<StreamFile> stream =
      check_stream_file(matrix, join_path(directory, kStreamFile), findings);
  if (!stream) return;
  const ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
  for (const std::string& problem : log.problems) {
    findings.warn("chunk_log", "whole records", problem, "the next run encodes that chunk again");
  }
  std::map<int64_t, ChunkRecord> known;
  int64_t damaged = 0;
  for (const LogRecord& record : log.records) {
    known.insert_or_assign(record.chunk.index, record.chunk);
    const std::string wrong = record.stream == stream->checksum
                                  ? check_chunk(directory, *stream, record.chunk)
                                  : "its record belongs to another stream";
    if (wrong.empty()) continue;
    ++damaged;
    findings.check("chunk_files", false, {.expected = "as its record says", .found = wrong},
                   join_path(directory, chunk_file_name(record.chunk.index)));
  }
  const std::string records = std::to_string(log.records.size()) + " chunks";
  if (damaged == 0) findings.check("chunk_files", true, {.expected = records, .found = records});
  const auto count = static_cast<size_t>(stream->chunk_count());
  const std::string expected = std::to_string(count) + " chunks, once each";
  const bool tiled = known.size() == count && log.records.size() == count;
  if (!tiled && final_is_complete) {
    findings.warn("chunk_tiling", expected, records,
                  "left over from a clean-up that was interrupted");
  } else {
    findings.check("chunk_tiling", tiled, {.expected = expected, .found = records},
                   "the stream is not finished: run encode again");
  }
  check_strays(directory, known, findings);
}

void check_cache_dir(const std::string& cache_dir, Findings& findings) {
  if (!is_directory(cache_dir)) return;
  for (const std::string& name : list_directory(cache_dir)) {
    if (!temp_file_target(name)) continue;
    findings.warn("cache_strays", "no temp files", name,
                  "left by a crash; the next run deletes it");
  }
}

}  // namespace encode
