#include "run_plan/memory/disk_space.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "encode/error.h"

#include "base/path_kind.h"
#include "base/process_limits.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr int64_t kFloat32Bytes = 4;

int64_t output_element_bytes(OutputType type) {
  if (type == OutputType::kFloat32) return kFloat32Bytes;
  constexpr int64_t kFloat16Bytes = 2;
  return type == OutputType::kFloat16 ? kFloat16Bytes : 1;
}

// Multiplies sizes that may be absurd, without overflow.
int64_t product(int64_t a, int64_t b) {
  constexpr double kMost = 1e17;  // so that sums of some products fit, too
  const double exact = static_cast<double>(a) * static_cast<double>(b);
  return exact > kMost ? std::numeric_limits<int64_t>::max() / 64 : a * b;
}

int64_t row_bytes(const StreamDisk& stream, OutputType type) {
  return output_columns(type, stream.dim) * output_element_bytes(type);
}

class Need {
 public:
  void file(int64_t bytes, std::string what) {
    if (bytes <= need_.largest_file_bytes) return;
    need_.largest_file_bytes = bytes;
    need_.largest_file = std::move(what);
  }
  void stream(const StreamDisk& stream, const StoreOptions& store) {
    const OutputType type = store.final_format.type;
    const int64_t final = product(stream.vectors, row_bytes(stream, type)) + stream.column_bytes;
    const int64_t plain = product(stream.vectors, stream.dim * kFloat32Bytes);
    const bool chunked = stream.largest_chunk > 0;
    // In standard mode every final but a float32 .npy file is made from such a file beside it.
    const bool from_plain =
        type != OutputType::kFloat32 || store.final_format.file != MatrixFormat::kNpy;
    const int64_t before = chunked || from_plain ? plain : 0;
    need_.final_bytes += final;
    need_.chunk_bytes += chunked ? plain : 0;
    at_once(kept_ + before + final - stream.existing_bytes);
    kept_ += final - stream.existing_bytes + (chunked && store.keep_chunk_cache ? plain : 0);
    file(final, "the final of " + stream.name);
    if (chunked)
      file(product(std::min(stream.largest_chunk, stream.vectors), stream.dim * kFloat32Bytes),
           "a chunk of " + stream.name);
  }
  void combined(int64_t bytes, const std::string& name) {
    need_.combined_bytes += bytes;
    kept_ += bytes;
    at_once(kept_);
    file(bytes, "the combined matrix " + name);
  }
  DiskNeed take() { return need_; }

 private:
  void at_once(int64_t bytes) { need_.peak_bytes = std::max(need_.peak_bytes, bytes); }

  DiskNeed need_;
  int64_t kept_ = 0;  // what stays on the disk
};

}  // namespace

int64_t column_bytes(const FinalFormat& format, int64_t rows, int64_t text_bytes) {
  constexpr int64_t kNumberBytes = 8;
  constexpr int64_t kOffsetBytes = 4;
  constexpr int64_t kFieldBytes = 32;
  int64_t bytes = 0;
  for (const TableColumn& column : format.columns) {
    if (column.source == kRowColumn) {
      bytes += product(rows, kNumberBytes);
    } else {
      bytes += product(rows, kOffsetBytes);
      bytes += column.source == kTextColumn ? text_bytes : product(rows, kFieldBytes);
    }
  }
  return bytes;
}

DiskNeed disk_need(const std::vector<StreamDisk>& streams,
                   const std::vector<CombinedDisk>& combined, const StoreOptions& store) {
  Need need;
  for (const StreamDisk& stream : streams) need.stream(stream, store);
  for (const CombinedDisk& matrix : combined) {
    int64_t bytes = 0;
    for (const size_t i : matrix.streams)
      bytes += product(streams[i].vectors, row_bytes(streams[i], store.final_format.type));
    need.combined(bytes, matrix.name);
  }
  return need.take();
}

DiskSpace disk_space_at(const std::string& directory) {
  namespace fs = std::filesystem;
  fs::path path = fs::absolute(directory).lexically_normal();
  while (path.has_relative_path() && !path_exists(path.string(), "io.statvfs"))
    path = path.parent_path();
  struct statvfs found = {};
  if (::statvfs(path.c_str(), &found) != 0)
    throw system_error("io.statvfs", "ask for the free space of", path.string(), errno);
  const auto bytes = [&found](fsblkcnt_t blocks) {
    return product(static_cast<int64_t>(blocks), static_cast<int64_t>(found.f_frsize));
  };
  return {.path = path.string(),
          .free_bytes = bytes(found.f_bfree),
          .usable_bytes = bytes(found.f_bavail),
          .file_system = found.f_fsid,
          .file_limit_bytes = process_limit(RLIMIT_FSIZE).value_or(0)};
}

void require_disk(const DiskNeed& need, const DiskSpace& space) {
  if (space.file_limit_bytes > 0 && need.largest_file_bytes > space.file_limit_bytes) {
    throw Error({.code = "limit.file_size",
                 .what = need.largest_file + " would be larger than a file of this process may be",
                 .where = "ulimit -f",
                 .expected = "files of at most " + format_bytes(space.file_limit_bytes),
                 .found = format_bytes(need.largest_file_bytes),
                 .hint = "raise the limit with `ulimit -f unlimited`"});
  }
  if (need.peak_bytes <= space.free_bytes) return;
  throw Error(
      {.code = "limit.disk",
       .what = "the disk has too little space for this experiment",
       .where = space.path,
       .expected = fmt::format("{} free at once: chunks {}, finals {}, combined {} in all",
                               format_bytes(need.peak_bytes), format_bytes(need.chunk_bytes),
                               format_bytes(need.final_bytes), format_bytes(need.combined_bytes)),
       .found = format_bytes(space.free_bytes) + " free",
       .hint = "free some space, give --cache-dir DIR on another disk, or make the matrices "
               "smaller with output_dtype: float16 or truncate_dim"});
}

}  // namespace encode
