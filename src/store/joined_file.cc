#include "store/joined_file.h"

#include <algorithm>
#include <condition_variable>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <utility>

#include "base/hash.h"
#include "base/mapped_memory.h"
#include "base/npy.h"
#include "base/thread_pool.h"
#include "store/block_writer.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = int64_t{8} << 20;
static_assert(kBlockBytes % kDirectAlignment == 0);
// The threads wait for the disk most of the time, so their number does not depend on the processor.
constexpr int64_t kThreads = 4;

int64_t rows_of(const std::vector<JoinedPart>& parts) {
  int64_t rows = 0;
  for (const JoinedPart& part : parts) rows += part.rows;
  return rows;
}

// Lets threads that do the steps of a sequence do a part of each step in order.
class Turns {
 public:
  // Waits until `work` of all steps below `step` is done, and then calls `work`. Returns false, and
  // does not call it, after abandon().
  bool take(int64_t step, const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return abandoned_ || next_ == step; });
    if (abandoned_) return false;
    lock.unlock();
    work();
    lock.lock();
    ++next_;
    changed_.notify_all();
    return true;
  }
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_ = 0;
  bool abandoned_ = false;
};

// Memory for blocks, as many as are used at the same time.
class Buffers {
 public:
  class Loan {
   public:
    explicit Loan(Buffers& owner) : owner_(owner), memory_(owner.take()) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { owner_.give_back(std::move(memory_)); }
    std::byte* data() const { return memory_.get(); }

   private:
    Buffers& owner_;
    std::shared_ptr<std::byte> memory_;
  };

 private:
  std::shared_ptr<std::byte> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return map_memory(static_cast<size_t>(kBlockBytes));
    std::shared_ptr<std::byte> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }
  void give_back(std::shared_ptr<std::byte> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<std::byte>> free_;
};

// Bytes of one part in a block.
struct Piece {
  size_t part = 0;
  int64_t offset = 0;               // in the rows of the part
  std::span<std::byte> bytes = {};  // in the block
  std::string head = {};            // of the file of the part; only if `offset` is 0
  bool last = false;                // of the part
};

// The parts, and where their rows begin behind the header of the joined file.
struct Parts {
  const std::vector<JoinedPart>& list;
  const std::vector<int64_t>& begins;
};

class Copy {
 public:
  Copy(const Parts& parts, JoinedShape shape, std::string_view header, AtomicFile& file)
      : parts_(parts.list), begins_(parts.begins), shape_(shape), header_(header), writer_(file) {}

  void check_empty_parts() const;
  void copy_block(int64_t block);
  int64_t blocks() const { return (begins_.back() + kBlockBytes - 1) / kBlockBytes; }
  std::string xxh3_hex() const { return file_hash_.hex(); }

 private:
  std::vector<Piece> pieces_of(int64_t begin, std::span<std::byte> block) const;
  void read(Piece& piece) const;
  void hash_part(const Piece& piece);

  const std::vector<JoinedPart>& parts_;
  const std::vector<int64_t>& begins_;
  const JoinedShape shape_;
  const std::string_view header_;
  BlockWriter writer_;
  Buffers buffers_;
  Turns part_turns_;
  Turns file_turns_;
  Xxh3 part_hash_;  // used in part_turns_
  Xxh3 file_hash_;  // used in file_turns_
};

NpyHeader header_of(const UniqueFd& fd, const JoinedPart& part, JoinedShape shape) {
  const NpyHeader header = read_npy_header(fd, part.path);
  if (header.rows == part.rows && header.cols == shape.columns && header.item == shape.item)
    return header;
  throw damage("a part does not have the shape in its manifest", part.path,
               fmt::format("{} x {}", part.rows, shape.columns),
               fmt::format("{} x {}", header.rows, header.cols));
}

void require_hash(const JoinedPart& part, const std::string& found) {
  if (found == part.xxh3_128) return;
  throw damage("a part is damaged", part.path, "XXH3-128 " + part.xxh3_128, found);
}

// No block has anything of a part without rows.
void Copy::check_empty_parts() const {
  for (const JoinedPart& part : parts_) {
    if (part.rows == 0) require_hash(part, xxh3_file(part.path));
  }
}

std::vector<Piece> Copy::pieces_of(int64_t begin, std::span<std::byte> block) const {
  const int64_t end = begin + static_cast<int64_t>(block.size());
  std::vector<Piece> pieces;
  // The last part that begins at `begin` or before, or the first one.
  auto after = std::upper_bound(begins_.begin(), begins_.end() - 1, begin);
  for (auto part = after == begins_.begin() ? after : after - 1;
       part + 1 != begins_.end() && *part < end; ++part) {
    const int64_t from = std::max(begin, *part);
    const int64_t to = std::min(end, *(part + 1));
    if (from >= to) continue;
    pieces.push_back(
        {.part = static_cast<size_t>(part - begins_.begin()),
         .offset = from - *part,
         .bytes = block.subspan(static_cast<size_t>(from - begin), static_cast<size_t>(to - from)),
         .last = to == *(part + 1)});
  }
  return pieces;
}

// A thread opens a part for each of its blocks. A file that stays open would save little, and there
// may be more parts in the blocks than a process may have open files.
void Copy::read(Piece& piece) const {
  const JoinedPart& part = parts_[piece.part];
  const UniqueFd fd = open_for_reading(part.path, "npy.open");
  const NpyHeader header = header_of(fd, part, shape_);
  const int64_t at = header.data_offset + piece.offset;
  // Without this call, the kernel reads a block in many small steps.
  ::posix_fadvise(fd.get(), at, std::ssize(piece.bytes), POSIX_FADV_WILLNEED);
  if (piece.offset == 0) {
    piece.head.resize(static_cast<size_t>(header.data_offset));
    pread_all(fd, piece.head, 0, part.path);
  }
  pread_all(fd, {reinterpret_cast<char*>(piece.bytes.data()), piece.bytes.size()}, at, part.path);
}

void Copy::hash_part(const Piece& piece) {
  if (piece.offset == 0) {
    part_hash_ = Xxh3();
    part_hash_.update(piece.head.data(), piece.head.size());
  }
  part_hash_.update(piece.bytes.data(), piece.bytes.size());
  if (piece.last) require_hash(parts_[piece.part], part_hash_.hex());
}

void Copy::copy_block(int64_t number) {
  const int64_t begin = number * kBlockBytes;
  const Buffers::Loan buffer(buffers_);
  const std::span block(buffer.data(),
                        static_cast<size_t>(std::min(kBlockBytes, begins_.back() - begin)));
  try {
    if (number == 0) std::ranges::copy(std::as_bytes(std::span(header_)), block.begin());
    std::vector<Piece> pieces = pieces_of(begin, block);
    for (Piece& piece : pieces) read(piece);
    const auto hash_parts = [&] {
      for (const Piece& piece : pieces) hash_part(piece);
    };
    const bool goes_on = part_turns_.take(number, hash_parts) && file_turns_.take(number, [&] {
      file_hash_.update(block.data(), block.size());
    });
    if (goes_on) writer_.write(begin, block);
  } catch (...) {
    part_turns_.abandon();
    file_turns_.abandon();
    throw;
  }
}

std::vector<int64_t> begins_of(const std::vector<JoinedPart>& parts, JoinedShape shape) {
  std::vector<int64_t> begins = {kNpyHeaderBytes};
  for (const JoinedPart& part : parts)
    begins.push_back(begins.back() + part.rows * shape.row_bytes());
  return begins;
}

}  // namespace

JoinedFile::JoinedFile(const std::string& path, std::vector<JoinedPart> parts, JoinedShape shape)
    : parts_(std::move(parts)),
      shape_(shape),
      header_(make_npy_header(rows_of(parts_), shape.columns, shape.item)),
      begins_(begins_of(parts_, shape)),
      file_(path, begins_.back()) {
  file_.extend(begins_.back());
}

void JoinedFile::copy() {
  Copy copy({parts_, begins_}, shape_, header_, file_);
  copy.check_empty_parts();
  share_calls(copy.blocks(), kThreads, [&](int64_t block) { copy.copy_block(block); });
  xxh3_ = copy.xxh3_hex();
}

int64_t JoinedFile::rows_written() const { return xxh3_.empty() ? 0 : rows_of(parts_); }

void JoinedFile::publish() {
  if (xxh3_.empty()) throw misuse("a matrix was published before its rows were copied", path());
  file_.commit();
}

}  // namespace encode
