#include "store/passage_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>

#include "base/npy.h"
#include "store/audit.h"
#include "store/sealed_file.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The numbers are written as they are in memory, and the file has little-endian numbers ("<i8").
static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(PassagePlace) == kPassageColumns * sizeof(int64_t));
constexpr std::string_view kPlaceDescr = "<i8";
constexpr auto kPlaceBytes = static_cast<int64_t>(sizeof(PassagePlace));

std::string header_of(int64_t passages) {
  return make_npy_header(passages, kPassageColumns, kPlaceDescr);
}

// Calls on_bytes with the bytes of the file after its header, in order, one block at a time.
void read_place_bytes(const std::string& path, const FileSeal& seal,
                      const std::function<void(std::string_view)>& on_bytes) {
  int64_t header_left = kNpyHeaderBytes;
  read_sealed_file(path, seal, [&](std::string_view block) {
    const int64_t skipped = std::min<int64_t>(header_left, std::ssize(block));
    header_left -= skipped;
    block.remove_prefix(static_cast<size_t>(skipped));
    on_bytes(block);
  });
}

// Calls on_place(place) for each passage of the file, in order.
template <typename OnPlace>
void read_places(const std::string& path, const FileSeal& seal, const OnPlace& on_place) {
  std::string rest;  // the begin of a passage whose end is in the next block
  read_place_bytes(path, seal, [&](std::string_view block) {
    rest.append(block);
    std::string_view whole = rest;
    for (; whole.size() >= sizeof(PassagePlace); whole.remove_prefix(sizeof(PassagePlace))) {
      PassagePlace place;
      std::memcpy(&place, whole.data(), sizeof place);
      on_place(place);
    }
    rest.erase(0, rest.size() - whole.size());
  });
}

// Returns what is wrong with a passage that comes after `last` (null: it is the first one), or "".
std::string check_place(const PassagePlace& place, const PassagePlace* last, RowRange rows) {
  const bool same_row = last != nullptr && last->row == place.row;
  if (place.row < rows.begin || place.row >= rows.end)
    return fmt::format("it has a passage of row {}", place.row);
  if (last != nullptr && place.row < last->row) return "its rows do not ascend";
  if (place.passage != (same_row ? last->passage + 1 : 0))
    return fmt::format("the passages of row {} are not numbered from 0", place.row);
  if (place.byte_begin < 0 || place.byte_end < place.byte_begin || place.char_begin < 0 ||
      place.char_end < place.char_begin || place.tokens < 0)
    return fmt::format("passage {} of row {} has no place", place.passage, place.row);
  return "";
}

}  // namespace

PassagesWriter::PassagesWriter(const std::string& path) : file_(path, 0) {
  const std::string header = header_of(0);
  file_.write(header.data(), header.size());
}

void PassagesWriter::append(std::span<const PassagePlace> passages) {
  file_.write(passages.data(), passages.size_bytes());
  passages_ += std::ssize(passages);
}

void PassagesWriter::append_file(const std::string& path, const FileSeal& seal) {
  read_place_bytes(path, seal,
                   [this](std::string_view bytes) { file_.write(bytes.data(), bytes.size()); });
  passages_ += (seal.file_bytes - kNpyHeaderBytes) / kPlaceBytes;
}

FileSeal PassagesWriter::publish(int64_t vectors) {
  const FileSeal seal = end(vectors);
  file_.commit();
  return seal;
}

FileSeal PassagesWriter::sync(int64_t vectors) {
  const FileSeal seal = end(vectors);
  file_.sync();
  return seal;
}

FileSeal PassagesWriter::end(int64_t vectors) {
  if (passages_ != vectors)
    throw misuse("the passages do not fit the matrix", file_.path(),
                 fmt::format("{} passages", vectors), fmt::format("{} passages", passages_));
  const std::string header = header_of(passages_);
  file_.overwrite(0, header.data(), header.size());
  const UniqueFd fd = open_for_reading(file_.temp_path(), "npy.open");
  Xxh3 hash;
  for_blocks(fd, file_.bytes_written(), file_.temp_path(),
             [&hash](std::string_view block) { hash.update(block.data(), block.size()); });
  return {.file_bytes = file_.bytes_written(), .xxh3_128 = hash.hex()};
}

PassageReader::PassageReader(std::string path)
    : path_(std::move(path)),
      fd_(open_for_reading(path_, "npy.open")),
      size_(file_size(fd_, path_)),
      offset_(kNpyHeaderBytes) {}

PassagePlace PassageReader::next() {
  constexpr int64_t kBlockPassages = 8192;
  if (taken_ == block_.size()) {
    const int64_t count = std::min(kBlockPassages, (size_ - offset_) / kPlaceBytes);
    if (count <= 0)
      throw damage("the file of passages is too short for its matrix", path_,
                   "a passage for each vector", fmt::format("{} bytes", size_));
    block_.resize(static_cast<size_t>(count));
    const size_t bytes = block_.size() * sizeof(PassagePlace);
    pread_all(fd_, {reinterpret_cast<char*>(block_.data()), bytes}, offset_, path_);
    offset_ += static_cast<int64_t>(bytes);
    taken_ = 0;
  }
  return block_[taken_++];
}

std::vector<PassagePlace> read_passages(const std::string& path, std::span<const int64_t> vectors) {
  const UniqueFd fd = open_for_reading(path, "npy.open");
  const int64_t size = file_size(fd, path);
  std::vector<PassagePlace> places;
  for (const int64_t vector : vectors) {
    const int64_t offset = kNpyHeaderBytes + vector * kPlaceBytes;
    if (offset + kPlaceBytes > size)
      throw damage("the file of passages is too short for its matrix", path,
                   fmt::format("at least {} passages", vector + 1), fmt::format("{} bytes", size));
    PassagePlace& place = places.emplace_back();
    pread_all(fd, {reinterpret_cast<char*>(&place), sizeof place}, offset, path);
  }
  return places;
}

std::string check_passages(const std::string& path, const FileSeal& seal,
                           const PassageRows& expected) {
  if (std::string wrong = check_sealed_file(path, seal); !wrong.empty()) return wrong;
  int64_t count = 0;
  PassagePlace last;
  std::string wrong;
  read_places(path, seal, [&](const PassagePlace& place) {
    if (wrong.empty()) wrong = check_place(place, count == 0 ? nullptr : &last, expected.rows);
    last = place;
    ++count;
  });
  if (!wrong.empty() || count == expected.passages) return wrong;
  return fmt::format("it has {} passages for {} vectors", count, expected.passages);
}

}  // namespace encode
