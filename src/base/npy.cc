#include "base/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

constexpr std::string_view kVersion("\x01\x00", 2);
constexpr size_t kStartBytes = kNpyMagic.size() + kVersion.size();
constexpr int64_t kMaxHeaderBytes = 10000;

[[noreturn]] void refuse(const std::string& path, std::string what, std::string expected,
                         std::string found) {
  throw Error({.code = "npy.header",
               .what = std::move(what),
               .where = path,
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "give a .npy matrix, as encode and numpy write it"});
}

// Parses the dictionary of a header, which NumPy writes as a Python literal:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (50621, 384), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    expect("{");
    for (bool more = true; more;) {
      const std::string key = quoted();
      expect(":");
      if (key == "descr") {
        descr_ = quoted();
      } else if (key == "fortran_order") {
        if (!accept("False")) fail("'fortran_order': False");
      } else if (key == "shape") {
        expect("(");
        header.rows = integer();
        expect(",");
        header.cols = integer();
        accept(",");
        expect(")");
      } else {
        fail("descr, fortran_order or shape");
      }
      seen_ += key + " ";
      accept(",");
      more = !accept("}");
    }
    skip_spaces();
    if (!rest_.empty()) fail("the end of the header");
    return header;
  }

  // The type of the elements as the header spells it. parse() leaves it to the caller to check it.
  const std::string& descr() const { return descr_; }

  // Returns true if each of the three keys has been read, in any order.
  bool complete() const {
    return seen_.size() == std::string_view("descr fortran_order shape ").size() &&
           seen_.find("descr ") != std::string::npos &&
           seen_.find("fortran_order ") != std::string::npos &&
           seen_.find("shape ") != std::string::npos;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }
  std::string quoted() {
    expect("'");
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos || end > 32) fail("a short quoted string");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }
  int64_t integer() {
    skip_spaces();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail("a non-negative integer below 2^63");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  [[noreturn]] void fail(const std::string& expected) {
    refuse(path_, "malformed .npy header", expected, fmt::format("'{}'", preview(rest_, 40)));
  }

  std::string_view rest_;
  const std::string& path_;
  std::string descr_;
  std::string seen_;
};

// Throws unless `descr` is a type of kItemTypes.
ItemType item_type(std::string_view descr, const std::string& path) {
  if (const std::optional<ItemType> type = find_value(kItemTypes, descr)) return *type;
  std::vector<std::string> quoted;
  for (const auto& [name, type] : kItemTypes)
    quoted.push_back(fmt::format("'{}' ({})", name, facts_of(type).word));
  refuse(path, "unsupported element type", list_in_words(quoted, "or"),
         fmt::format("'{}'", preview(descr)));
}

}  // namespace

int64_t NpyHeader::data_bytes() const {
  int64_t elements = 0;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) ||
      __builtin_mul_overflow(elements, item_bytes(), &bytes)) {
    throw Error({.code = "npy.header",
                 .what = "the shape is too large",
                 .where = "the shape in the .npy header",
                 .expected = "rows x columns x item size below 2^63",
                 .found = fmt::format("{} x {}", rows, cols),
                 .hint = "write the file again, because its header is damaged"});
  }
  return bytes;
}

namespace {

std::string header_bytes(std::string_view descr, const std::string& shape) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  const size_t length = static_cast<size_t>(kNpyHeaderBytes) - kStartBytes - 2;
  dictionary.resize(length - 1, ' ');
  dictionary += '\n';
  std::string header(kNpyMagic);
  header += kVersion;
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  return header + dictionary;
}

}  // namespace

std::string make_npy_header(int64_t rows, int64_t cols, ItemType item) {
  return make_npy_header(rows, cols, facts_of(item).name);
}

std::string make_npy_header(int64_t rows, int64_t cols, std::string_view descr) {
  return header_bytes(descr, fmt::format("({}, {})", rows, cols));
}

std::string make_npy_vector_header(int64_t count, std::string_view descr) {
  return header_bytes(descr, fmt::format("({},)", count));
}

NpyHeader read_npy_header(const std::string& path) {
  return read_npy_header(open_for_reading(path, "npy.open"), path);
}

NpyHeader read_npy_header(const UniqueFd& fd, const std::string& path) {
  const int64_t size = file_size(fd, path);
  std::array<char, 10> prefix = {};
  if (size < static_cast<int64_t>(prefix.size())) {
    refuse(path, "not an .npy file", "at least 10 bytes", fmt::format("{} bytes", size));
  }
  pread_all(fd, prefix, 0, path);
  const std::string_view start(prefix.data(), kStartBytes);
  if (!start.starts_with(kNpyMagic) || !start.ends_with(kVersion)) {
    refuse(path, "not an .npy file", "the magic string of .npy version 1.0", "other bytes");
  }
  const int64_t length =
      static_cast<unsigned char>(prefix[8]) | static_cast<unsigned char>(prefix[9]) << 8;
  if (length > kMaxHeaderBytes || 10 + length > size) {
    refuse(path, "bad .npy header length",
           fmt::format("at most {} bytes", std::min(kMaxHeaderBytes, size - 10)),
           fmt::format("{} bytes", length));
  }
  std::string text(static_cast<size_t>(length), '\0');
  pread_all(fd, text, 10, path);
  HeaderParser parser(text, path);
  NpyHeader header = parser.parse();
  if (!parser.complete())
    refuse(path, "malformed .npy header", "descr, fortran_order and shape, each once",
           preview(text, 200));
  header.item = item_type(parser.descr(), path);
  header.data_offset = 10 + length;
  // Subtracts, because the sum data_offset + data_bytes() could overflow for a shape near 2^63
  // bytes.
  if (header.data_bytes() != size - header.data_offset) {
    refuse(path, "the file size does not fit the shape",
           fmt::format("{} bytes of data", header.data_bytes()),
           fmt::format("{} bytes", size - header.data_offset));
  }
  return header;
}

}  // namespace encode
