// Turns the merges of a file, which are pairs of spelled tokens, into merges of ids.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// Not thread-safe.
class MergeLoader {
 public:
  // The merged token is the left side and the right side without its first `prefix_size` bytes (the
  // prefix of subwords). `where` names the place in messages. `vocabulary` must outlive the loader.
  MergeLoader(const Vocabulary& vocabulary, size_t prefix_size, std::string where);

  void reserve(size_t merges) { merges_.reserve(merges); }
  // The views must stay valid until finish(). Throws Error (kConfig) if a side or the result of a
  // merge is not in the vocabulary. A later add() or finish() may report this. The code is
  // "tokenizer.format".
  void add(std::string_view left, std::string_view right);
  // Returns the merges in the order of add(). Call it once.
  std::vector<BpeMerge> finish();

 private:
  int32_t find_merged(std::string_view token);
  void look_up_sides();
  [[noreturn]] void refuse(size_t merge, std::string_view token) const;

  const Vocabulary& vocabulary_;
  size_t prefix_size_;
  std::string where_;
  std::vector<BpeMerge> merges_;
  // The left and right sides of the merges that were added but are not looked up yet.
  std::vector<std::string_view> sides_;
  std::vector<int32_t> side_ids_;
  std::string merged_;
  size_t expected_ = 0;  // the entry of the vocabulary for the result of the last merge
};

}  // namespace encode
