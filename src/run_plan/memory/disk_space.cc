#include "run_plan/memory/disk_space.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <limits>
#include <sys/resource.h>
#include <utility>

#include "encode/error.h"

#include "base/file_system.h"
#include "base/output_types.h"
#include "base/process_limits.h"
#include "base/units.h"
#include "config/schema.h"

namespace encode {
namespace {

constexpr int64_t kFloat32Bytes = item_facts(OutputType::kFloat32).bytes;
constexpr int64_t kRecordBytes = 64 << 10;  // DiskParts::record_bytes

// Multiplies sizes of any magnitude without overflow.
int64_t product(int64_t a, int64_t b) {
  constexpr double kMost = 1e17;  // so that sums of some products also fit
  const double exact = static_cast<double>(a) * static_cast<double>(b);
  return exact > kMost ? std::numeric_limits<int64_t>::max() / 64 : a * b;
}

int64_t row_bytes(const StreamDisk& stream, OutputType type) {
  return output_columns(type, stream.dim) * item_facts(type).bytes;
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
    const int64_t source_rows = stream.filtered ? product(stream.vectors, sizeof(int64_t)) : 0;
    const int64_t final =
        product(stream.vectors, row_bytes(stream, type)) + stream.column_bytes + source_rows;
    const int64_t plain = product(stream.vectors, stream.dim * kFloat32Bytes);
    kept_.final_bytes += final;
    if (stream.finished) {
      kept_.existing_bytes += final;
      return at_once(kept_);
    }
    const bool chunked = stream.largest_chunk > 0;
    // In standard mode a final matrix that is not a float32 .npy file, or has source rows, is
    // converted from a float32 .npy file beside it.
    const bool from_plain = type != OutputType::kFloat32 ||
                            store.final_format.file != MatrixFormat::kNpy || stream.filtered;
    kept_.existing_bytes += stream.existing_bytes;
    DiskParts now = kept_;
    (chunked ? now.chunk_bytes : now.float32_bytes) += chunked || from_plain ? plain : 0;
    at_once(now);
    if (chunked && store.keep_chunk_cache) kept_.chunk_bytes += plain;
    file(final, "the matrix of " + stream.name);
    if (chunked)
      file(product(std::min(stream.largest_chunk, stream.vectors), stream.dim * kFloat32Bytes),
           "a chunk of " + stream.name);
  }
  void combined(int64_t bytes, const std::string& name, bool finished) {
    kept_.combined_bytes += bytes;
    if (finished) kept_.existing_bytes += bytes;
    at_once(kept_);
    if (!finished) file(bytes, "the combined matrix " + name);
  }
  DiskNeed take() { return need_; }

 private:
  void at_once(const DiskParts& parts) {
    if (parts.total() >= need_.peak.total()) need_.peak = parts;
  }

  DiskNeed need_;
  DiskParts kept_ = {.record_bytes = kRecordBytes};  // what stays on the disk
};

// Rounds to the digits that format_bytes_of() shows for a part of `whole`.
int64_t rounded(int64_t bytes, int64_t whole) {
  int64_t unit = 1;
  while (static_cast<double>(whole) / static_cast<double>(unit) >= 999.95) unit *= 1000;
  const int64_t tenth = std::max<int64_t>(1, unit / 10);
  return (bytes + tenth / 2) / tenth * tenth;
}

}  // namespace

int64_t DiskParts::total() const {
  return chunk_bytes + float32_bytes + final_bytes + combined_bytes + record_bytes - existing_bytes;
}

std::string describe(const DiskParts& parts) {
  const int64_t whole = parts.total() + parts.existing_bytes;
  int64_t sum = 0;
  std::string text;
  using Part = std::pair<const char*, int64_t>;
  for (const auto& [name, bytes] :
       {Part("chunks", parts.chunk_bytes), Part("float32 rows", parts.float32_bytes),
        Part("matrices", parts.final_bytes), Part("combined matrices", parts.combined_bytes),
        Part("log and records", parts.record_bytes)}) {
    const int64_t shown = rounded(bytes, whole);
    if (shown == 0) continue;
    sum += shown;
    text +=
        fmt::format("{} {} {}", text.empty() ? " =" : " +", name, format_bytes_of(shown, whole));
  }
  if (const int64_t shown = rounded(parts.existing_bytes, whole); shown > 0) {
    sum -= shown;
    text += fmt::format(" - {} that are there already", format_bytes_of(shown, whole));
  }
  return format_bytes_of(std::max<int64_t>(0, sum), whole) + text;
}

int64_t column_bytes(const FinalFormat& format, int64_t rows, int64_t text_bytes) {
  constexpr int64_t kNumberBytes = 8;
  constexpr int64_t kOffsetBytes = 4;
  constexpr int64_t kFieldBytes = 32;
  int64_t bytes = 0;
  for (const TableColumn& column : format.columns) {
    if (is_number_column(column)) {
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
    bool finished = matrix.finished;
    for (const size_t i : matrix.streams) {
      bytes += product(streams[i].vectors, row_bytes(streams[i], store.final_format.type));
      finished = finished && streams[i].finished;
    }
    need.combined(bytes, matrix.name, finished);
  }
  return need.take();
}

DiskSpace disk_space_at(const std::string& directory) {
  FileSystem found;
  if (const int error = find_file_system(directory, found); error != 0)
    throw system_error("io.statvfs", "ask for the free space of", found.path, error);
  return {.path = found.path,
          .free_bytes = found.free_bytes,
          .usable_bytes = found.usable_bytes,
          .file_system = found.id,
          .file_limit_bytes = process_limit(RLIMIT_FSIZE).value_or(0)};
}

void require_disk(const DiskNeed& need, const DiskSpace& space, bool on_command_line) {
  if (space.file_limit_bytes > 0 && need.largest_file_bytes > space.file_limit_bytes) {
    throw Error({.code = "limit.file_size",
                 .what = need.largest_file + " would be larger than a file of this process may be",
                 .where = "ulimit -f",
                 .expected = "files of at most " + format_bytes(space.file_limit_bytes),
                 .found = format_bytes(need.largest_file_bytes),
                 .hint = "raise the limit with `ulimit -f unlimited`"});
  }
  if (need.peak.total() <= space.free_bytes) return;
  throw Error({.code = "limit.disk",
               .what = "the disk has too little space for this experiment",
               .where = space.path,
               .expected = describe(need.peak) + ", at once",
               .found = format_bytes(space.free_bytes) + " free",
               .hint = fmt::format(
                   "free some space, give --cache-dir DIR on another disk, or make the matrices "
                   "smaller with {} or {}",
                   spelled_setting("semantic.output_dtype", "float16", on_command_line),
                   setting_name("semantic.truncate_dim", on_command_line))});
}

}  // namespace encode
