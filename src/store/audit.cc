#include "store/audit.h"

#include <set>
#include <utility>

#include "base/file.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "store/chunk_recovery.h"
#include "store/layout.h"
#include "store/records.h"
#include "store/run_files.h"

namespace encode {
namespace {

std::vector<std::string> stray_files(const std::string& directory,
                                     const std::vector<LogRecord>& records) {
  std::set<std::string> known = {std::string(kLogFile), std::string(kStreamFile)};
  for (const LogRecord& record : records) {
    for (const ChunkPart part : kChunkParts) {
      if (has_part(record.chunk, part)) known.insert(chunk_file_name(record.chunk.index, part));
    }
  }
  std::vector<std::string> strays;
  for (const std::string& name : list_directory(directory)) {
    if (!known.contains(name)) strays.push_back(name);
  }
  return strays;
}

}  // namespace

bool has_run(const std::string& directory) {
  return path_exists(RunFiles(directory).lock(), "store.lock");
}

std::string own_run_dir(const std::string& output) {
  for (std::string directory : {own_cache_dir(output), earlier_own_cache_dir(output)}) {
    if (has_run(directory)) return directory;
  }
  return "";
}

ChunkProgress read_chunk_progress(const std::string& directory) {
  const StreamFile stream = read_stream_file(join_path(directory, kStreamFile));
  const std::string log_path = join_path(directory, kLogFile);
  const ChunkLog log = read_chunk_log(log_path);
  ChunkProgress progress;
  progress.identity = stream.identity;
  progress.chunk_rows = stream.chunk_rows;
  progress.chunk_count = stream.chunk_count();
  progress.problems = log.problems;
  for (const auto& [index, record] : committed_chunks(log, stream)) {
    const std::string path = join_path(directory, chunk_file_name(index));
    // When the matrix is published, a run deletes the log and then the chunks. If both are gone,
    // the rows of the chunk are in the matrix.
    if (!path_exists(path, "store.chunk") && path_exists(log_path, "store.log")) {
      progress.problems.push_back(path + ": the chunk has a record and no file");
      continue;
    }
    ++progress.chunks;
    progress.rows += stream.chunk(index).size();
    progress.rows_set_aside += record.stats.set_aside_rows;
    add_origin(progress.origins, record.origin);
  }
  return progress;
}

std::optional<int64_t> logged_rows(const std::string& cache_dir, const StreamIdentity& identity) {
  const std::string directory = chunks_dir(cache_dir, identity.name);
  const std::string stream_path = join_path(directory, kStreamFile);
  if (!path_exists(stream_path, "store.stream")) return std::nullopt;
  const StreamFile stream = read_stream_file(stream_path);
  if (!same_stream(stream.identity, identity)) return std::nullopt;
  const ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
  int64_t rows = 0;
  for (const auto& [index, record] : committed_chunks(log, stream))
    rows += stream.chunk(index).size();
  return rows;
}

ChunkFolder read_chunk_folder(const std::string& directory) {
  const StreamFile stream = read_stream_file(join_path(directory, kStreamFile));
  ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
  ChunkFolder folder;
  folder.identity = stream.identity;
  folder.chunk_count = stream.chunk_count();
  folder.records = static_cast<int64_t>(log.records.size());
  folder.log_problems = std::move(log.problems);
  folder.strays = stray_files(directory, log.records);
  std::set<int64_t> chunks;
  for (const LogRecord& record : log.records) {
    chunks.insert(record.chunk.index);
    const std::string wrong = record.stream == stream.checksum
                                  ? check_chunk(directory, stream, record.chunk)
                                  : "its record belongs to another stream.json";
    if (wrong.empty()) continue;
    folder.damaged.push_back(
        {.path = join_path(directory, chunk_file_name(record.chunk.index)), .wrong = wrong});
  }
  folder.has_each_once =
      folder.records == folder.chunk_count && std::ssize(chunks) == folder.chunk_count;
  return folder;
}

}  // namespace encode
