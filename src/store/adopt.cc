// Takes over the committed chunks of other cache directories.
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/file_link.h"
#include "store/layout.h"
#include "store/records.h"

namespace encode {
namespace {

// What has been taken over so far.
class Adoption {
 public:
  Adoption(std::string directory, const StreamIdentity& identity)
      : directory_(std::move(directory)), identity_(identity) {}

  void take_from(const std::string& directory) {
    const std::optional<StreamFile> stream = stream_of(directory);
    if (!stream || (stream_ && stream_->checksum != stream->checksum)) return;
    if (!stream_) create_directories_durably(directory_);
    stream_ = stream;
    const ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
    for (const auto& [index, record] : committed_chunks(log, *stream_)) {
      if (taken_.contains(index) || !take_files(directory, record)) continue;
      taken_.insert(index);
      records_.push_back(record);
    }
  }

  // The records are published last, so that an interruption leaves only files without a record.
  int64_t finish() const {
    if (!stream_) return 0;
    sync_directory(directory_);
    write_file_durably(join_path(directory_, kStreamFile), stream_->text());
    write_file_durably(join_path(directory_, kLogFile), log_text(*stream_, records_));
    return std::ssize(records_);
  }

 private:
  std::optional<StreamFile> stream_of(const std::string& directory) const {
    try {
      StreamFile stream = read_stream_file(join_path(directory, kStreamFile));
      if (same_stream(stream.identity, identity_)) return stream;
    } catch (const Error& error) {  // a damaged file costs only the chunks of this directory
      if (error.exit_code() != ExitCode::kNoInput && error.exit_code() != ExitCode::kData) throw;
    }
    return std::nullopt;
  }

  // Returns false, and takes nothing, if a file of the chunk is gone, because the other run has
  // removed its chunks meanwhile, or if this user may not read it.
  bool take_files(const std::string& directory, const ChunkRecord& record) const {
    std::vector<std::string> taken;
    for (const ChunkPart part : kChunkParts) {
      const std::string name = chunk_file_name(record.index, part);
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
  const StreamIdentity& identity_;
  std::optional<StreamFile> stream_;
  std::set<int64_t> taken_;
  std::vector<ChunkRecord> records_;
};

}  // namespace

int64_t adopt_chunks(const std::vector<std::string>& from, const std::string& to,
                     const StreamIdentity& identity) {
  Adoption adoption(chunks_dir(to, identity.name), identity);
  for (const std::string& cache_dir : from)
    adoption.take_from(chunks_dir(cache_dir, identity.name));
  return adoption.finish();
}

}  // namespace encode
