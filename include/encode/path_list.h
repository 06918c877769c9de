// Many paths in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace encode {

// Iterates over a list that makes its items: list[i] returns a value.
template <class List, class Item>
class MadeItems {
 public:
  using iterator_category = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = Item;
  using pointer = const Item*;
  using reference = Item;

  MadeItems() = default;
  MadeItems(const List& list, size_t index) : list_(&list), index_(index) {}
  Item operator*() const { return (*list_)[index_]; }
  MadeItems& operator++() {
    ++index_;
    return *this;
  }
  MadeItems operator++(int) { return std::exchange(*this, MadeItems(*list_, index_ + 1)); }
  bool operator==(const MadeItems& other) const { return index_ == other.index_; }

 private:
  const List* list_ = nullptr;
  size_t index_ = 0;
};

// A list of paths. A path is kept as the bytes by which it differs from the path before it, so a
// path of a large folder takes about 20 bytes. Any thread may call the const functions.
class PathList {
 public:
  using const_iterator = MadeItems<PathList, std::string>;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string operator[](size_t index) const;  // `index` is below size()
  std::string front() const { return (*this)[0]; }
  std::string back() const { return last_; }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }

  void push_back(std::string_view path);
  int64_t path_bytes() const { return path_bytes_; }  // the sizes of all paths

 private:
  static constexpr size_t kGroup = 16;  // the first path of a group is kept whole

  std::string bytes_;
  std::vector<size_t> groups_;  // where each group begins in `bytes_`
  std::string last_;
  size_t size_ = 0;
  int64_t path_bytes_ = 0;
};

}  // namespace encode
