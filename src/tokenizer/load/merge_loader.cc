#include "tokenizer/load/merge_loader.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

constexpr size_t kMergeBatch = 64;  // the number of merges that are looked up together

}  // namespace

MergeLoader::MergeLoader(const Vocabulary& vocabulary, size_t prefix_size, std::string where)
    : vocabulary_(vocabulary),
      prefix_size_(prefix_size),
      where_(std::move(where)),
      side_ids_(2 * kMergeBatch) {}

void MergeLoader::add(std::string_view left, std::string_view right) {
  merged_ = left;
  merged_ += right.substr(std::min(prefix_size_, right.size()));
  const int32_t merged = find_merged(merged_);
  merges_.push_back({-1, -1, merged});
  sides_.insert(sides_.end(), {left, right});
  if (sides_.size() == side_ids_.size() || merged < 0) look_up_sides();
  if (merged < 0) refuse(merges_.size() - 1, merged_);
}

std::vector<BpeMerge> MergeLoader::finish() {
  look_up_sides();
  return std::move(merges_);
}

// First tries the result of the previous merge and the entry after it, before it looks up `token`.
// One of them is nearly always the token, because a trainer appends the result of each merge to the
// vocabulary.
int32_t MergeLoader::find_merged(std::string_view token) {
  const auto entries = vocabulary_.entries();
  for (const size_t entry : {expected_, expected_ + 1}) {
    if (entry >= entries.size() || vocabulary_.token(entries[entry]) != token) continue;
    expected_ = entry;
    return entries[entry].id;
  }
  const Vocabulary::Entry* found = vocabulary_.find_entry(token);
  if (found == nullptr) return -1;
  expected_ = static_cast<size_t>(found - entries.data());
  return found->id;
}

void MergeLoader::look_up_sides() {
  vocabulary_.find_all(sides_, side_ids_);
  const size_t first = merges_.size() - sides_.size() / 2;
  for (size_t i = 0; i < sides_.size(); ++i) {
    BpeMerge& merge = merges_[first + i / 2];
    if (side_ids_[i] < 0) refuse(first + i / 2, sides_[i]);
    (i % 2 == 0 ? merge.left : merge.right) = side_ids_[i];
  }
  sides_.clear();
}

void MergeLoader::refuse(size_t merge, std::string_view token) const {
  refuse_format(fmt::format("merge {} uses a token that is not in the vocabulary", merge), where_,
                "a token of the vocabulary", quoted_token(token));
}

}  // namespace encode
