// Reads single rows of committed chunks. The rest of the store reads a chunk as a whole.
#include <map>

#include "encode/store.h"

#include "base/file.h"
#include "base/npy.h"
#include "store/layout.h"
#include "store/records.h"

namespace encode {
namespace {

// An open chunk file, whose header fits its record.
class ChunkFile {
 public:
  ChunkFile(const std::string& directory, const StreamFile& stream, const ChunkRecord& record)
      : path_(join_path(directory, chunk_file_name(record.index))),
        fd_(open_for_reading(path_, "npy.open")),
        header_(read_npy_header(fd_, path_)),
        first_row_(stream.chunk(record.index).begin) {
    require_chunk_shape(header_, stream, record, path_);
  }

  void read(int64_t row, std::span<float> to) const {
    const auto bytes = static_cast<int64_t>(to.size_bytes());
    pread_all(fd_, {reinterpret_cast<char*>(to.data()), to.size_bytes()},
              header_.data_offset + (row - first_row_) * bytes, path_);
  }

 private:
  std::string path_;
  UniqueFd fd_;
  NpyHeader header_;
  int64_t first_row_;
};

}  // namespace

std::optional<std::vector<float>> read_committed_rows(const std::string& cache_dir,
                                                      const StreamIdentity& identity,
                                                      std::span<const int64_t> rows) {
  const std::string directory = chunks_dir(cache_dir, identity.name);
  const std::string stream_path = join_path(directory, kStreamFile);
  if (!entry_exists(stream_path, "store.stream")) return std::nullopt;
  const StreamFile stream = read_stream_file(stream_path);
  if (!same_stream(stream.identity, identity)) return std::nullopt;
  const std::map<int64_t, ChunkRecord> chunks =
      committed_chunks(read_chunk_log(join_path(directory, kLogFile)), stream);
  const auto dim = static_cast<size_t>(identity.dim);
  std::vector<float> values(rows.size() * dim);
  std::optional<ChunkFile> file;
  int64_t open_chunk = -1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t index = (rows[i] - identity.first_row) / stream.chunk_rows;
    if (index != open_chunk) {
      const auto chunk = chunks.find(index);
      if (chunk == chunks.end()) return std::nullopt;
      file.emplace(directory, stream, chunk->second);
      open_chunk = index;
    }
    file->read(rows[i], std::span(values).subspan(i * dim, dim));
  }
  return values;
}

}  // namespace encode
