// Takes over the committed chunks of other cache directories.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/file_link.h"
#include "store/attempt_folders.h"
#include "store/chunk_places.h"
#include "store/layout.h"
#include "store/records.h"

namespace encode {
namespace {

// The chunks of one directory.
struct Source {
  std::string directory;
  StreamFile stream;
  std::vector<ChunkRecord> records = {};
};

// What has been taken over so far.
class Adoption {
 public:
  explicit Adoption(std::string directory) : directory_(std::move(directory)) {}

  // Reads the chunks of a directory if they belong to `identity`, or if there is no `identity`, to
  // the stream of the first directory that has chunks.
  void add_source(const std::string& directory, const StreamIdentity* identity) {
    std::optional<StreamFile> stream = stream_of(directory);
    if (!stream || (identity != nullptr && !same_stream(stream->identity, *identity))) return;
    if (!sources_.empty() && sources_.front().stream.checksum != stream->checksum) return;
    Source source = {.directory = directory, .stream = *std::move(stream)};
    const ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
    for (const auto& [index, record] : committed_chunks(log, source.stream))
      source.records.push_back(record);
    if (!source.records.empty()) sources_.push_back(std::move(source));
  }

  // A chunk in which every row has a vector comes before one that lacks rows: `encode retry-failed`
  // may have made it.
  void take() {
    if (sources_.empty()) return;
    create_directories_durably(directory_);
    for (const bool lacks_rows : {false, true}) {
      for (const Source& source : sources_) take_from(source, lacks_rows);
    }
  }

  // The records are published last, so that an interruption leaves only files without a record.
  int64_t finish() {
    if (sources_.empty()) return 0;
    const StreamFile& stream = sources_.front().stream;
    std::ranges::sort(records_, {}, &ChunkRecord::index);
    const ChunkPlaces places(directory_, stream.folder_chunks);
    std::set<std::string> folders = {directory_};
    for (const ChunkRecord& record : records_) folders.insert(places.folder(record.index));
    for (const std::string& folder : folders) sync_directory(folder);
    write_file_durably(join_path(directory_, kStreamFile), stream.text());
    write_file_durably(join_path(directory_, kLogFile), log_text(stream, records_));
    return std::ssize(records_);
  }

 private:
  static std::optional<StreamFile> stream_of(const std::string& directory) {
    try {
      return read_stream_file(join_path(directory, kStreamFile));
    } catch (const Error& error) {  // a damaged file costs only the chunks of this directory
      if (error.exit_code() != ExitCode::kNoInput && error.exit_code() != ExitCode::kData) throw;
    }
    return std::nullopt;
  }

  void take_from(const Source& source, bool lacks_rows) {
    const ChunkPlaces places("", source.stream.folder_chunks);
    ChunkFolders folders(ChunkPlaces(directory_, source.stream.folder_chunks));
    for (const ChunkRecord& record : source.records) {
      if (record.set_aside.has_value() != lacks_rows || taken_.contains(record.index)) continue;
      folders.create(record.index);
      if (!take_files(source.directory, places, record)) continue;
      taken_.insert(record.index);
      records_.push_back(record);
    }
  }

  // Returns false, and takes nothing, if a file of the chunk is gone, because the other run has
  // removed its chunks meanwhile, or if this user may not read it.
  bool take_files(const std::string& directory, const ChunkPlaces& places,
                  const ChunkRecord& record) const {
    std::vector<std::string> taken;
    for (const ChunkPart part : kChunkParts) {
      const std::string name = places.name(record.index, part);
      if (!has_part(record, part)) continue;
      if (!take_file(join_path(directory, name), join_path(directory_, name))) {
        for (const std::string& path : taken) remove_file(path);
        return false;
      }
      taken.push_back(join_path(directory_, name));
    }
    return true;
  }

  static bool take_file(const std::string& from, const std::string& to) {
    try {
      return link_or_copy(from, to);
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::kNoPermission) return false;
      throw;
    }
  }

  std::string directory_;
  std::vector<Source> sources_;
  std::set<int64_t> taken_;
  std::vector<ChunkRecord> records_;
};

int64_t adopt(const std::vector<std::string>& from, const std::string& to, const std::string& name,
              const StreamIdentity* identity) {
  Adoption adoption(chunks_dir(to, name));
  for (const std::string& cache_dir : from)
    adoption.add_source(chunks_dir(cache_dir, name), identity);
  adoption.take();
  return adoption.finish();
}

}  // namespace

int64_t adopt_chunks(const std::vector<std::string>& from, const std::string& to,
                     const StreamIdentity& identity) {
  return adopt(from, to, identity.name, &identity);
}

int64_t adopt_chunks_of_any(const std::vector<std::string>& from, const std::string& to,
                            const std::string& stream_name) {
  return adopt(from, to, stream_name, nullptr);
}

}  // namespace encode
