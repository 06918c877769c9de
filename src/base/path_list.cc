#include "encode/path_list.h"

#include <algorithm>

namespace encode {
namespace {

constexpr size_t kDigit = 128;  // a number is written in digits of 7 bits, the lowest first

void append_number(std::string& bytes, size_t number) {
  for (; number >= kDigit; number /= kDigit) bytes += static_cast<char>(number % kDigit + kDigit);
  bytes += static_cast<char>(number);
}

size_t take_number(std::string_view& bytes) {
  size_t number = 0;
  for (size_t unit = 1;; unit *= kDigit) {
    const auto digit = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number += digit % kDigit * unit;
    if (digit < kDigit) return number;
  }
}

}  // namespace

void PathList::push_back(std::string_view path) {
  size_t shared = 0;
  if (size_ % kGroup == 0) {
    groups_.push_back(bytes_.size());
  } else {
    const size_t most = std::min(last_.size(), path.size());
    shared = static_cast<size_t>(
        std::mismatch(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(most), last_.begin())
            .first -
        path.begin());
  }
  append_number(bytes_, shared);
  append_number(bytes_, path.size() - shared);
  bytes_.append(path.substr(shared));
  last_.assign(path);
  path_bytes_ += static_cast<int64_t>(path.size());
  ++size_;
}

std::string PathList::operator[](size_t index) const {
  std::string_view left = std::string_view(bytes_).substr(groups_[index / kGroup]);
  std::string path;
  for (size_t i = index / kGroup * kGroup; i <= index; ++i) {
    path.resize(take_number(left));
    const size_t own = take_number(left);
    path.append(left.substr(0, own));
    left.remove_prefix(own);
  }
  return path;
}

}  // namespace encode
