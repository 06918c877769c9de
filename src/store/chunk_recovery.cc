#include "store/chunk_recovery.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/creatable.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/names.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "store/audit.h"
#include "store/chunk_places.h"
#include "store/final.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr std::string_view kKeepChunksHint =
    "to keep these chunks, give this run another --cache-dir DIR; --fresh deletes them and starts "
    "over";

[[noreturn]] void refuse_foreign(const std::string& directory, const StreamFile& found,
                                 const StreamFile& wanted) {
  throw Error({.code = "store.foreign",
               .what = first_difference(found.identity, wanted.identity) +
                       "; the chunks in the cache belong to another run",
               .where = directory,
               .expected = "chunks of the same inputs, model and result options",
               .found = describe_differences(found.identity, wanted.identity),
               .hint = std::string(kKeepChunksHint)});
}

// Returns nullopt if the file does not exist or is damaged. If it is damaged, sets `problem`.
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

StreamFile with_checksum(StreamFile stream) {
  stream.checksum = stated_checksum(stream.text());
  return stream;
}

// Rebuilds a stream.json that is missing or damaged. The text is made from this run's identity and
// the chunk size. If the records in the log hold the checksum of this text, they belong to this
// run, and the file can be written again. Throws Error kData "store.damaged" if they do not.
StreamFile rebuild_stream_file(const std::string& directory, const ChunkLog& log,
                               const StreamFile& wanted) {
  if (log.records.empty()) return with_checksum(wanted);
  const LogRecord& first = log.records.front();
  for (const int64_t chunk_rows :
       {wanted.chunk_rows, std::max<int64_t>(1, first.chunk.rows.size())}) {
    // A stream of many chunks of an earlier version has no sub-folders.
    StreamFile flat = {.identity = wanted.identity, .chunk_rows = chunk_rows};
    for (const StreamFile& stream : {new_stream(wanted.identity, chunk_rows), flat}) {
      StreamFile candidate = with_checksum(stream);
      if (candidate.checksum == first.stream) return candidate;
    }
  }
  ErrorDetail detail =
      damage(
          "stream.json is missing or damaged, and the chunks beside it may belong to another run",
          join_path(directory, kStreamFile), "chunks of this run, or no chunks",
          format_count(std::ssize(log.records), "record", "records") + " of another stream")
          .detail();
  detail.hint = kKeepChunksHint;
  throw Error(std::move(detail));
}

// The stream that the chunks of a folder belong to.
struct SettledOwner {
  StreamFile stream;
  bool found = false;   // false: the folder has no valid stream.json
  std::string problem;  // what is wrong with a damaged stream.json, or ""
  ChunkLog log;
};

std::string_view last_name(std::string_view entry) { return entry.substr(entry.rfind('/') + 1); }

// The files of a stream's committed chunks.
struct CommittedFiles {
  std::map<int64_t, ChunkRecord> records = {};
  int64_t folder_chunks = 0;

  // Returns true if the entry (see entries_of_stream()) has the name of a chunk's file, and no
  // record mentions this file.
  bool is_stray(const std::string& entry) const {
    const std::optional<ChunkFileName> file = parse_chunk_file_name(last_name(entry));
    if (!file) return false;
    const auto record = records.find(file->index);
    return record == records.end() || !has_part(record->second, file->part) ||
           ChunkPlaces("", folder_chunks).name(file->index, file->part) != entry;
  }
};

// Returns true if the folder has no chunk that a run could use: no record in the log, and no file
// with the name of a chunk. A run that was stopped before its first chunk leaves such a folder. The
// log alone is not enough, because a log that has lost its records looks like an empty one.
bool has_no_chunks(const std::string& directory, const ChunkLog& log) {
  if (!log.records.empty() || !log.problems.empty()) return false;
  const std::vector<std::string> entries = entries_of_stream(directory);
  return std::none_of(entries.begin(), entries.end(),
                      [](const std::string& entry) { return CommittedFiles().is_stray(entry); });
}

// Finds the owner of the chunks without changing the folder. Throws Error if they belong to another
// stream, or may belong to one. A folder without chunks may be taken over from another stream.
SettledOwner settle_owner(const std::string& directory, const StreamFile& wanted) {
  SettledOwner owner;
  std::optional<StreamFile> found =
      try_read_stream_file(join_path(directory, kStreamFile), owner.problem);
  owner.log = read_chunk_log(join_path(directory, kLogFile));
  if (found && !same_stream(found->identity, wanted.identity)) {
    if (!has_no_chunks(directory, owner.log)) refuse_foreign(directory, *found, wanted);
    found.reset();
  }
  owner.found = found.has_value();
  owner.stream = found ? *found : rebuild_stream_file(directory, owner.log, wanted);
  return owner;
}

// Deletes temporary files and the files of chunks that no committed record mentions. Leaves all
// other files in place, because the store did not write them.
void sweep(const std::string& directory, const CommittedFiles& committed,
           std::vector<std::string>& dropped) {
  std::set<std::string> changed;
  for (const std::string& entry : entries_of_stream(directory)) {
    const std::string name(last_name(entry));
    const bool stray_chunk = committed.is_stray(entry);
    const bool temp_file = temp_file_target(name).has_value() && is_chunk_folder_name(name);
    if (!stray_chunk && !temp_file) continue;
    const std::string path = join_path(directory, entry);
    remove_file(path);
    changed.insert(parent_directory(path));
    if (stray_chunk)
      dropped.push_back(
          fmt::format("{}: deleted, because the log has no valid record of it", path));
  }
  for (const std::string& folder : changed) sync_directory(folder);
}

std::string check_beside_chunk(const ChunkPlaces& places, const ChunkRecord& record,
                               int64_t vectors) {
  const auto path = [&](ChunkPart part) { return places.path(record.index, part); };
  if (record.ledger) {
    const std::string wrong = check_sealed_file(path(ChunkPart::kLedger), *record.ledger);
    if (!wrong.empty()) return fmt::format("its list of truncated rows is damaged ({})", wrong);
  }
  if (record.set_aside) {
    const std::string wrong = check_sealed_file(path(ChunkPart::kSetAside), *record.set_aside);
    if (!wrong.empty()) return fmt::format("its list of rows that failed is damaged ({})", wrong);
  }
  if (record.passages) {
    const std::string wrong = check_passages(path(ChunkPart::kPassages), *record.passages,
                                             {.rows = record.rows, .passages = vectors});
    if (!wrong.empty()) return fmt::format("its file of passages is damaged ({})", wrong);
  }
  if (!record.offsets) return "";
  const std::string wrong =
      check_offsets(path(ChunkPart::kOffsets), *record.offsets, record.rows.size(), vectors);
  return wrong.empty() ? "" : fmt::format("its offsets file is damaged ({})", wrong);
}

}  // namespace

std::string check_chunk(const std::string& directory, const StreamFile& stream,
                        const ChunkRecord& record) {
  if (record.index >= stream.chunk_count() || !(record.rows == stream.chunk(record.index))) {
    return "its record has the row numbers of another chunk";
  }
  if (record.file_bytes != stream.chunk_file_bytes(record)) return "its record has a wrong size";
  if (record.offsets.has_value() != stream.identity.has_offsets() ||
      record.passages.has_value() != stream.identity.passages)
    return "its record belongs to another kind of matrix";
  const ChunkPlaces places(directory, stream.folder_chunks);
  const std::string path = places.path(record.index);
  try {
    if (const int64_t size = file_size(open_for_reading(path, "store.chunk"), path);
        size != record.file_bytes) {
      return fmt::format("it has {} bytes, but its record says {}", size, record.file_bytes);
    }
    if (xxh3_file(path) != record.xxh3_128) return "its checksum is not the one in its record";
    return check_beside_chunk(places, record,
                              stream.identity.vectors_of(record.stats, record.rows.size()));
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return "the file is missing";
    throw;
  }
}

namespace {

// Returns for each record what is wrong with its chunk, or "". Checks several chunks at a time,
// because it reads every committed byte.
std::vector<std::string> check_chunks(const std::string& directory, const StreamFile& stream,
                                      const std::vector<LogRecord>& records) {
  std::vector<std::string> wrong(records.size());
  share_calls(std::ssize(records), cpu_quota(), [&](int64_t number) {
    const auto i = static_cast<size_t>(number);
    wrong[i] = records[i].stream != stream.checksum
                   ? "its record belongs to another stream.json"
                   : check_chunk(directory, stream, records[i].chunk);
  });
  return wrong;
}

}  // namespace

Recovered recover(const std::string& cache_dir, const StreamFile& wanted) {
  const std::string directory = chunks_dir(cache_dir, wanted.identity.name);
  const std::string log_path = join_path(directory, kLogFile);
  const std::string stream_path = join_path(directory, kStreamFile);
  create_directories_durably(directory);
  // Syncs the parent even if the folder existed, because an earlier run may have crashed between
  // its mkdir() and this sync.
  sync_directory(cache_dir);
  for (const auto& [name, format] : kMatrixFormats)
    remove_final_temp_files(final_path(cache_dir, wanted.identity.name, format));

  Recovered result;
  SettledOwner owner = settle_owner(directory, wanted);
  ChunkLog& log = owner.log;
  result.stream = owner.stream;
  if (!owner.found) write_file_durably(stream_path, result.stream.text());
  if (!owner.problem.empty()) {
    result.dropped.push_back(
        fmt::format("{}: {}; the file was written again", stream_path, owner.problem));
  }
  for (std::string& sentence : log.problems) result.dropped.push_back(std::move(sentence));

  CommittedFiles files = {.folder_chunks = result.stream.folder_chunks};
  std::map<int64_t, ChunkRecord>& committed = files.records;
  const ChunkPlaces places(directory, result.stream.folder_chunks);
  const std::vector<std::string> wrong = check_chunks(directory, result.stream, log.records);
  for (size_t i = 0; i < log.records.size(); ++i) {
    const ChunkRecord& chunk = log.records[i].chunk;
    if (wrong[i].empty()) {
      committed.insert_or_assign(chunk.index, chunk);
    } else {
      result.dropped.push_back(
          fmt::format("{}: {}; it will be encoded again", places.path(chunk.index), wrong[i]));
    }
  }
  // Repairs the log by writing a new one. This also creates a log that does not exist.
  const bool log_exists = path_exists(log_path, "store.log");
  const bool log_is_clean =
      log_exists && log.problems.empty() && log.records.size() == committed.size();
  for (const auto& [index, record] : committed) result.committed.push_back(record);
  if (!log_is_clean) write_file_durably(log_path, log_text(result.stream, result.committed));
  sweep(directory, files, result.dropped);
  return result;
}

std::optional<Joined> join(const std::string& cache_dir, const StreamFile& wanted) {
  const std::string directory = chunks_dir(cache_dir, wanted.identity.name);
  // The log is opened first, because remove_chunks() deletes it first.
  std::optional<SharedLog> log = SharedLog::open(join_path(directory, kLogFile));
  if (!log) return std::nullopt;
  try {
    StreamFile found = read_stream_file(join_path(directory, kStreamFile));
    if (!same_stream(found.identity, wanted.identity)) refuse_foreign(directory, found, wanted);
    return Joined{.stream = std::move(found), .log = std::move(*log)};
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kNoInput) throw;
    return std::nullopt;
  }
}

namespace {

void remove_if_empty(const std::string& directory) {
  if (retried([&] { return ::rmdir(directory.c_str()); }) != 0 && errno != ENOTEMPTY &&
      errno != EEXIST && errno != ENOTDIR) {
    throw system_error("io.remove", "delete folder", directory, errno);
  }
}

}  // namespace

void remove_chunks(const std::string& cache_dir, const std::string& stream_name) {
  const std::string directory = chunks_dir(cache_dir, stream_name);
  if (!path_exists(directory, "store.stream")) return;
  // Deletes the log first. If the removal is interrupted after that, the next run treats the chunks
  // as stray files. Deletes stream.json last, because it says which stream the folder belongs to.
  remove_file(join_path(directory, kLogFile));
  sync_directory(directory);
  for (const std::string& entry : entries_of_stream(directory)) {
    if (is_chunk_folder_name(last_name(entry)) && entry != kStreamFile)
      remove_file(join_path(directory, entry));
  }
  for (const std::string& folder : chunk_subfolders(directory))
    remove_if_empty(join_path(directory, folder));
  remove_file(join_path(directory, kStreamFile));
  remove_if_empty(directory);
  sync_directory(cache_dir);
}

void check_chunk_owner(const std::string& cache_dir, const StreamIdentity& identity,
                       int64_t chunk_rows) {
  const std::string directory = chunks_dir(cache_dir, identity.name);
  if (first_existing_directory(directory) != directory) return;
  settle_owner(directory, new_stream(identity, chunk_rows));
}

}  // namespace encode
