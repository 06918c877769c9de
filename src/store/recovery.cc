#include "store/recovery.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "fingerprint/fingerprint.h"
#include "store/audit.h"
#include "store/final.h"
#include "store/layout.h"
#include "store/offsets.h"
#include "store/sealed_file.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

[[noreturn]] void refuse_foreign(const std::string& directory, const StreamFile& found,
                                 const StreamFile& wanted) {
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "store.foreign",
               .what = "the chunks in the cache belong to another run",
               .where = directory,
               .expected = "chunks of the same inputs, model and result options",
               .found = describe_differences(found.identity, wanted.identity),
               .hint = "--fresh deletes them and starts over; another cache directory keeps both"});
}

bool same_stream(const StreamFile& a, const StreamFile& b) {
  return a.identity.name == b.identity.name && a.identity.fingerprint == b.identity.fingerprint &&
         a.identity.rows == b.identity.rows && a.identity.dim == b.identity.dim;
}

// nullopt where there is none; `problem` is set where it is damaged.
std::optional<StreamFile> try_read_stream_file(const std::string& path, std::string& problem) {
  try {
    return read_stream_file(path);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return std::nullopt;
    if (error.exit_code() != ExitCode::kData) throw;
    problem = error.detail().what;
    return std::nullopt;
  }
}

StreamFile with_checksum(StreamFile stream, int64_t chunk_rows) {
  stream.chunk_rows = chunk_rows;
  stream.checksum = stated_checksum(stream.text());
  return stream;
}

// stream.json is gone or damaged. Its text follows from this run's identity and the chunk size;
// where the records in the log carry that text's checksum, they are of this run and the file can be
// written anew.
StreamFile rebuild_stream_file(const std::string& directory, const ChunkLog& log,
                               const StreamFile& wanted) {
  if (log.records.empty()) return with_checksum(wanted, wanted.chunk_rows);
  const LogRecord& first = log.records.front();
  for (const int64_t chunk_rows :
       {wanted.chunk_rows, std::max<int64_t>(1, first.chunk.rows.size())}) {
    StreamFile candidate = with_checksum(wanted, chunk_rows);
    if (candidate.checksum == first.stream) return candidate;
  }
  throw damage(
      "stream.json is missing or damaged, and the chunks beside it are not known to be this run's",
      join_path(directory, kStreamFile), "chunks of this run, or none",
      std::to_string(log.records.size()) + " records of another stream");
}

// Is it a file of a chunk, and no record speaks for it?
bool is_stray(const std::string& name, const std::map<int64_t, ChunkRecord>& committed) {
  if (const auto index = parse_chunk_file_name(name)) return !committed.contains(*index);
  if (const auto index = parse_chunk_ledger_name(name))
    return !committed.contains(*index) || !committed.at(*index).ledger;
  if (const auto index = parse_chunk_offsets_name(name))
    return !committed.contains(*index) || !committed.at(*index).offsets;
  return false;
}

// Deletes every file of ours that no record speaks for. Other files are not ours to delete.
void sweep(const std::string& directory, const std::map<int64_t, ChunkRecord>& committed,
           std::vector<std::string>& dropped) {
  bool changed = false;
  for (const std::string& name : list_directory(directory)) {
    const bool stray_chunk = is_stray(name, committed);
    const bool temp_file = temp_file_target(name).has_value() && is_chunk_folder_name(name);
    if (!stray_chunk && !temp_file) continue;
    remove_file(join_path(directory, name));
    changed = true;
    if (stray_chunk)
      dropped.push_back(join_path(directory, name) + ": deleted, no valid record speaks for it");
  }
  if (changed) sync_directory(directory);
}

std::string log_text(const StreamFile& stream, const std::map<int64_t, ChunkRecord>& committed) {
  std::string text;
  for (const auto& [index, record] : committed)
    text += to_line({.stream = stream.checksum, .chunk = record});
  return text;
}

std::string check_beside_chunk(const std::string& directory, const ChunkRecord& record) {
  if (record.ledger) {
    const std::string wrong =
        check_sealed_file(join_path(directory, chunk_ledger_name(record.index)), *record.ledger);
    if (!wrong.empty()) return "its truncation ledger: " + wrong;
  }
  if (!record.offsets) return "";
  const std::string wrong = check_offsets(join_path(directory, chunk_offsets_name(record.index)),
                                          *record.offsets, record.rows.size(), record.stats.tokens);
  return wrong.empty() ? "" : "its offsets: " + wrong;
}

}  // namespace

std::string check_chunk(const std::string& directory, const StreamFile& stream,
                        const ChunkRecord& record) {
  if (record.index >= stream.chunk_count() || !(record.rows == stream.chunk(record.index))) {
    return "its record names rows that are not its own";
  }
  if (record.file_bytes != stream.chunk_file_bytes(record)) return "its record names a wrong size";
  if (record.offsets.has_value() != stream.identity.token_embeddings)
    return "its record is of another kind of matrix";
  const std::string path = join_path(directory, chunk_file_name(record.index));
  try {
    if (const int64_t size = file_size(open_for_reading(path, "store.chunk"), path);
        size != record.file_bytes) {
      return "it has " + std::to_string(size) + " bytes, its record says " +
             std::to_string(record.file_bytes);
    }
    if (xxh3_file(path) != record.xxh3_128) return "its checksum differs from its record's";
    return check_beside_chunk(directory, record);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return "the file is missing";
    if (error.exit_code() == ExitCode::kIoError) return error.detail().what;
    throw;
  }
}

Recovered recover(const std::string& cache_dir, const StreamFile& wanted) {
  const std::string directory = chunks_dir(cache_dir, wanted.identity.name);
  const std::string log_path = join_path(directory, kLogFile);
  const std::string stream_path = join_path(directory, kStreamFile);
  create_directories_durably(directory);
  // The folder may be there without being durable: a crash between its mkdir and the sync of its
  // parent.
  sync_directory(cache_dir);
  remove_final_temp_files(final_path(cache_dir, wanted.identity.name));

  Recovered result;
  std::string problem;
  const std::optional<StreamFile> found = try_read_stream_file(stream_path, problem);
  if (found && !same_stream(*found, wanted)) refuse_foreign(directory, *found, wanted);
  ChunkLog log = read_chunk_log(log_path);
  result.stream = found ? *found : rebuild_stream_file(directory, log, wanted);
  if (!found) write_file_durably(stream_path, result.stream.text());
  if (!problem.empty()) result.dropped.push_back(stream_path + ": " + problem + "; written anew");
  for (std::string& sentence : log.problems) result.dropped.push_back(std::move(sentence));

  std::map<int64_t, ChunkRecord> committed;
  for (const LogRecord& record : log.records) {
    const std::string wrong = record.stream != result.stream.checksum
                                  ? "its record belongs to another stream"
                                  : check_chunk(directory, result.stream, record.chunk);
    if (wrong.empty()) {
      committed.insert_or_assign(record.chunk.index, record.chunk);
    } else {
      result.dropped.push_back(join_path(directory, chunk_file_name(record.chunk.index)) + ": " +
                               wrong + "; it will be encoded again");
    }
  }
  // One way to repair a log: a new one. It also makes the log where there is none.
  const bool log_exists = ::access(log_path.c_str(), F_OK) == 0;
  const bool log_is_clean =
      log_exists && log.problems.empty() && log.records.size() == committed.size();
  if (!log_is_clean) write_file_durably(log_path, log_text(result.stream, committed));
  sweep(directory, committed, result.dropped);
  for (auto& [index, record] : committed) result.committed.push_back(std::move(record));
  return result;
}

void remove_chunks(const std::string& cache_dir, const std::string& stream_name) {
  const std::string directory = chunks_dir(cache_dir, stream_name);
  if (::access(directory.c_str(), F_OK) != 0 && errno == ENOENT) return;
  // The log first: without it whatever is left of a removal that was cut short is only stray files.
  // stream.json last: until then the folder says whose it is.
  remove_file(join_path(directory, kLogFile));
  sync_directory(directory);
  for (const std::string& name : list_directory(directory)) {
    if (is_chunk_folder_name(name) && name != kStreamFile) remove_file(join_path(directory, name));
  }
  remove_file(join_path(directory, kStreamFile));
  if (::rmdir(directory.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) {
    throw system_error("io.remove", "delete folder", directory, errno);
  }
  sync_directory(cache_dir);
}

}  // namespace encode
