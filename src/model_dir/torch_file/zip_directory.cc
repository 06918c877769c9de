#include "model_dir/torch_file/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/units.h"
#include "base/utf8.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kZip64End = 0x06064b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr int64_t kLocalHeaderBytes = 30;
constexpr int64_t kCentralHeaderBytes = 46;
constexpr int64_t kEndBytes = 22;
constexpr int64_t kZip64EndBytes = 56;
constexpr int64_t kZip64LocatorBytes = 20;
constexpr int64_t kMaxDescriptorBytes = 24;
constexpr uint16_t kHasDescriptor = 1 << 3;
constexpr uint16_t kUtf8Name = 1 << 11;
constexpr uint16_t kZip64Field = 1;
constexpr uint32_t kIn64Bits = 0xffff'ffff;  // the real number is in a field or record of ZIP64

Error bad_zip(const std::string& file, std::string what, std::string expected, std::string found) {
  return Error({.code = "model.zip",
                .what = std::move(what),
                .where = file,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "download the file again, or load it with torch and save it as "
                        "safetensors; do not use it if you do not trust it"});
}

// Reads little-endian numbers from bytes of which the caller has checked the length.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  template <typename Number>
  Number next() {
    Number number = 0;
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }
  void skip(size_t bytes) { bytes_.remove_prefix(bytes); }
  std::string_view text(size_t bytes) {
    const std::string_view result = bytes_.substr(0, bytes);
    bytes_.remove_prefix(result.size());
    return result;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

struct Directory {
  int64_t entries = 0;
  int64_t offset = 0;
  int64_t size = 0;
};

// What a header says about an entry. The entry has two headers: in the central directory, and
// before its bytes.
struct Header {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // only in the central directory
  std::string_view name;
};

struct Placed {
  std::string name;
  int64_t begin = 0;  // where the header begins
  int64_t data = 0;
  int64_t end = 0;
  bool stored = true;
  bool has_descriptor = false;
};

// Reads the numbers that the header leaves to the ZIP64 field. Returns false if the extra fields
// are damaged or lack a number.
bool read_zip64(std::string_view extra, Header& header) {
  Fields fields(extra);
  std::vector<uint64_t*> wanted;
  for (uint64_t* number : {&header.size, &header.packed_size, &header.offset}) {
    if (*number == kIn64Bits) wanted.push_back(number);
  }
  while (fields.left() >= 4) {
    const auto id = fields.next<uint16_t>();
    const auto bytes = fields.next<uint16_t>();
    if (bytes > fields.left()) return false;
    Fields field(fields.text(bytes));
    if (id != kZip64Field) continue;
    for (uint64_t* number : wanted) {
      if (field.left() < sizeof *number) return false;
      *number = field.next<uint64_t>();
    }
    wanted.clear();
  }
  return wanted.empty() && fields.left() == 0;
}

class ZipReader {
 public:
  ZipReader(const UniqueFd& fd, const std::string& file)
      : fd_(fd), file_(file), file_bytes_(file_size(fd, file)) {}

  std::map<std::string, ZipEntry> run() {
    const Directory directory = find_directory();
    const std::string bytes = read(directory.offset, directory.size);
    Fields fields(bytes);
    std::vector<Placed> placed;
    for (int64_t i = 0; i < directory.entries; ++i) placed.push_back(place(fields, directory));
    if (fields.left() != 0) {
      throw bad_zip(file_, "the central directory of the zip archive goes on after its last entry",
                    fmt::format("{} entries", directory.entries),
                    fmt::format("{} more bytes", fields.left()));
    }
    require_order(placed, directory);
    std::map<std::string, ZipEntry> entries;
    for (Placed& entry : placed) {
      const ZipEntry range = {
          .offset_bytes = entry.data, .size_bytes = entry.end - entry.data, .stored = entry.stored};
      const std::string name = preview(entry.name);
      if (!entries.emplace(std::move(entry.name), range).second) {
        throw bad_zip(file_, "the zip archive has two entries of one name", "unique names",
                      fmt::format("'{}' again", name));
      }
    }
    return entries;
  }

 private:
  std::string read(int64_t offset, int64_t bytes) const {
    std::string result(static_cast<size_t>(bytes), '\0');
    pread_all(fd_, result, offset, file_);
    return result;
  }

  Error bad_end(std::string found) const {
    return bad_zip(file_, "the end of the zip archive is damaged or cut off",
                   "a central directory that ends where the end record begins, without a comment",
                   std::move(found));
  }

  Directory find_directory() const {
    if (file_bytes_ < kEndBytes) throw bad_end(fmt::format("a file of {} bytes", file_bytes_));
    const int64_t end_offset = file_bytes_ - kEndBytes;
    const std::string end = read(end_offset, kEndBytes);
    Fields fields(end);
    if (fields.next<uint32_t>() != kEnd) throw bad_end("no end record in the last 22 bytes");
    const auto disk = fields.next<uint16_t>();
    const auto directory_disk = fields.next<uint16_t>();
    const auto entries_here = fields.next<uint16_t>();
    const auto entries = fields.next<uint16_t>();
    const auto size = fields.next<uint32_t>();
    const auto offset = fields.next<uint32_t>();
    if (disk != 0 || directory_disk != 0 || entries_here != entries || fields.next<uint16_t>() != 0)
      throw bad_end("an archive of several parts, or a comment");
    const std::optional<Directory> large = find_zip64(end_offset);
    const bool agrees = large ? (entries == 0xffff || entries == large->entries) &&
                                    (size == kIn64Bits || size == large->size) &&
                                    (offset == kIn64Bits || offset == large->offset)
                              : entries != 0xffff && size != kIn64Bits && offset != kIn64Bits;
    if (!agrees) throw bad_end("two end records that disagree");
    const Directory directory =
        large.value_or(Directory{.entries = entries, .offset = offset, .size = size});
    const int64_t after = large ? end_offset - kZip64LocatorBytes - kZip64EndBytes : end_offset;
    require_directory(directory, after);
    return directory;
  }

  // Returns nullopt if the archive has no record of ZIP64.
  std::optional<Directory> find_zip64(int64_t end_offset) const {
    const int64_t locator_offset = end_offset - kZip64LocatorBytes;
    const int64_t record_offset = locator_offset - kZip64EndBytes;
    if (locator_offset < 0) return std::nullopt;
    const std::string locator = read(locator_offset, kZip64LocatorBytes);
    Fields fields(locator);
    if (fields.next<uint32_t>() != kZip64Locator) return std::nullopt;
    const auto disk = fields.next<uint32_t>();
    const auto offset = fields.next<uint64_t>();
    if (record_offset < 0 || disk != 0 || offset != static_cast<uint64_t>(record_offset) ||
        fields.next<uint32_t>() > 1)
      throw bad_end("a ZIP64 locator that names another place");
    const std::string record = read(record_offset, kZip64EndBytes);
    Fields end(record);
    const bool starts = end.next<uint32_t>() == kZip64End &&
                        end.next<uint64_t>() == static_cast<uint64_t>(kZip64EndBytes) - 12;
    end.skip(4);  // versions
    const auto disks = end.next<uint64_t>();
    const auto entries_here = end.next<uint64_t>();
    const auto entries = end.next<uint64_t>();
    const auto size = end.next<uint64_t>();
    const auto directory_offset = end.next<uint64_t>();
    const auto limit = static_cast<uint64_t>(file_bytes_);
    if (!starts || disks != 0 || entries_here != entries || entries > limit || size > limit ||
        directory_offset > limit)
      throw bad_end("a damaged ZIP64 record");
    return Directory{.entries = static_cast<int64_t>(entries),
                     .offset = static_cast<int64_t>(directory_offset),
                     .size = static_cast<int64_t>(size)};
  }

  void require_directory(const Directory& directory, int64_t after) const {
    if (directory.size > after || directory.offset != after - directory.size) {
      throw bad_end(fmt::format("a directory of {} bytes at {}, and {} bytes before the record",
                                directory.size, directory.offset, after));
    }
    if (directory.entries < 1 || directory.entries > kMaxZipEntries ||
        directory.size > kMaxZipDirectoryBytes) {
      throw bad_zip(
          file_, "the zip archive has too few or too many entries",
          fmt::format("1 to {} entries in {} bytes", kMaxZipEntries, kMaxZipDirectoryBytes),
          fmt::format("{} entries in {} bytes", directory.entries, directory.size));
    }
  }

  Placed place(Fields& fields, const Directory& directory) const {
    const Header central = central_header(fields);
    const std::string name = preview(central.name);
    if (!is_allowed_name(central.name)) {
      throw bad_zip(file_, "an entry of the zip archive has a name that is not allowed",
                    fmt::format("a relative path of 1 to {} bytes of UTF-8, without '..', "
                                "backslashes and control characters",
                                kMaxZipNameBytes),
                    fmt::format("'{}'", name));
    }
    if ((central.method == 0 && central.packed_size != central.size) ||
        (central.flags & ~(kHasDescriptor | kUtf8Name)) != 0) {
      throw bad_zip(file_, "an entry of the zip archive is encrypted or damaged",
                    "stored entries, as torch.save() writes them",
                    fmt::format("'{}' with method {}, flags {:#x}, {} of {} bytes", name,
                                central.method, central.flags, central.packed_size, central.size));
    }
    const auto room = static_cast<uint64_t>(directory.offset);
    if (central.offset > room || central.packed_size > room - central.offset ||
        room - central.offset < static_cast<uint64_t>(kLocalHeaderBytes)) {
      throw bad_zip(file_, "an entry of the zip archive lies outside of the file",
                    fmt::format("inside the first {} bytes", room),
                    fmt::format("'{}', {} bytes at {}", name, central.packed_size, central.offset));
    }
    return with_local_header(central, directory);
  }

  Header central_header(Fields& fields) const {
    const auto cut = [this] {
      return bad_zip(file_, "the central directory of the zip archive is damaged",
                     "a header for each entry", "a damaged header");
    };
    if (fields.left() < static_cast<size_t>(kCentralHeaderBytes)) throw cut();
    Header header;
    if (fields.next<uint32_t>() != kCentralHeader) throw cut();
    fields.skip(4);  // versions
    header.flags = fields.next<uint16_t>();
    header.method = fields.next<uint16_t>();
    fields.skip(8);  // time, date, CRC
    header.packed_size = fields.next<uint32_t>();
    header.size = fields.next<uint32_t>();
    const size_t name_bytes = fields.next<uint16_t>();
    const size_t extra_bytes = fields.next<uint16_t>();
    const size_t comment_bytes = fields.next<uint16_t>();
    const auto disk = fields.next<uint16_t>();
    fields.skip(6);  // attributes
    header.offset = fields.next<uint32_t>();
    if (disk != 0 || fields.left() < name_bytes + extra_bytes + comment_bytes) throw cut();
    header.name = fields.text(name_bytes);
    if (!read_zip64(fields.text(extra_bytes), header)) throw cut();
    fields.skip(comment_bytes);
    return header;
  }

  // Reads the header before the entry, compares it with the one of the central directory, and
  // returns where the data begin.
  Placed with_local_header(const Header& central, const Directory& directory) const {
    const auto begin = static_cast<int64_t>(central.offset);
    const std::string start = read(begin, kLocalHeaderBytes);
    Fields fields(start);
    Header local;
    const bool signature = fields.next<uint32_t>() == kLocalHeader;
    fields.skip(2);  // version
    local.flags = fields.next<uint16_t>();
    local.method = fields.next<uint16_t>();
    fields.skip(8);  // time, date, CRC
    local.packed_size = fields.next<uint32_t>();
    local.size = fields.next<uint32_t>();
    const int64_t name_bytes = fields.next<uint16_t>();
    const int64_t extra_bytes = fields.next<uint16_t>();
    const int64_t data = begin + kLocalHeaderBytes + name_bytes + extra_bytes;
    std::string rest;
    if (signature && data <= directory.offset)
      rest = read(begin + kLocalHeaderBytes, name_bytes + extra_bytes);
    Fields names(rest);
    local.name = names.text(static_cast<size_t>(name_bytes));
    const bool sizes = read_zip64(names.text(names.left()), local);
    const auto same = [&](uint64_t stated, uint64_t known) {
      return stated == known || (stated == 0 && (local.flags & kHasDescriptor) != 0);
    };
    const bool agrees = signature && sizes && local.name == central.name &&
                        local.flags == central.flags && local.method == central.method &&
                        same(local.size, central.size) &&
                        same(local.packed_size, central.packed_size);
    const auto size = static_cast<int64_t>(central.packed_size);
    if (!agrees || data > directory.offset || size > directory.offset - data) {
      throw bad_zip(file_, "the header of an entry disagrees with the directory of the zip archive",
                    fmt::format("'{}', {} bytes", preview(central.name), size),
                    signature
                        ? fmt::format("'{}', {} bytes, method {}, flags {:#x}", preview(local.name),
                                      local.size, local.method, local.flags)
                        : "no header");
    }
    return {.name = std::string(central.name),
            .begin = begin,
            .data = data,
            .end = data + size,
            .stored = central.method == 0,
            .has_descriptor = (central.flags & kHasDescriptor) != 0};
  }

  // Throws if entries overlap, or if bytes belong to no entry. Between two entries only a data
  // descriptor is allowed.
  void require_order(std::vector<Placed>& placed, const Directory& directory) const {
    std::sort(placed.begin(), placed.end(),
              [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    int64_t end = 0;
    int64_t most = 0;
    const auto require = [&](int64_t begin, std::string_view name) {
      if (begin >= end && begin <= end + most) return;
      throw bad_zip(file_,
                    begin < end ? "entries of the zip archive overlap"
                                : "the zip archive has bytes that belong to no entry",
                    fmt::format("'{}' at {}", preview(name), end), fmt::to_string(begin));
    };
    for (const Placed& entry : placed) {
      require(entry.begin, entry.name);
      end = entry.end;
      most = entry.has_descriptor ? kMaxDescriptorBytes : 0;
    }
    require(directory.offset, "the central directory");
  }

  static bool is_allowed_name(std::string_view name) {
    if (name.empty() || static_cast<int64_t>(name.size()) > kMaxZipNameBytes ||
        name.front() == '/' || !is_valid_utf8(name))
      return false;
    const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
      return c == '\\' || c == '\x7f' || static_cast<unsigned char>(c) < ' ';
    });
    for (size_t begin = 0; plain && begin <= name.size();) {
      const size_t slash = std::min(name.find('/', begin), name.size());
      const std::string_view part = name.substr(begin, slash - begin);
      if (part.empty() || part == "." || part == "..") return false;
      begin = slash + 1;
    }
    return plain;
  }

  const UniqueFd& fd_;
  const std::string& file_;
  int64_t file_bytes_ = 0;
};

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(const UniqueFd& fd, const std::string& file) {
  return ZipReader(fd, file).run();
}

}  // namespace encode
