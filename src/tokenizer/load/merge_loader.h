// Merges as a file spells them -> merges of ids.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

class MergeLoader {
 public:
  // The right side of a merged token loses `prefix_size` bytes, the prefix of subwords. `where`
  // names the file in messages.
  MergeLoader(const Vocabulary& vocabulary, size_t prefix_size, std::string where);

  void reserve(size_t merges) { merges_.reserve(merges); }
  // The views must live until finish(). Throws Error (kConfig) for a merge whose sides or whose
  // result is not in the vocabulary, maybe some merges later.
  void add(std::string_view left, std::string_view right);
  std::vector<BpeMerge> finish();

 private:
  int32_t find_merged(std::string_view token);
  void look_up_sides();
  [[noreturn]] void refuse(size_t merge, std::string_view token) const;

  const Vocabulary& vocabulary_;
  size_t prefix_size_;
  std::string where_;
  std::vector<BpeMerge> merges_;
  std::vector<std::string_view> sides_;  // left, right of the last merges, not looked up yet
  std::vector<int32_t> side_ids_;
  std::string merged_;
  size_t expected_ = 0;  // vocabulary entry that the last merge made
};

}  // namespace encode
