#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <functional>

namespace encode {
namespace {

size_t slot_of(std::string_view token, size_t slots) {
  return std::hash<std::string_view>()(token) & (slots - 1);
}

}  // namespace

void Vocabulary::rehash(size_t slots) {
  slots_.assign(slots, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = slot_of(token(entries_[i]), slots);
    while (slots_[at] != 0) at = (at + 1) & (slots - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

void Vocabulary::reserve(size_t tokens) {
  entries_.reserve(tokens);
  size_t slots = 16;
  while (slots < tokens * 2) slots *= 2;
  if (slots > slots_.size()) rehash(slots);
}

bool Vocabulary::add(std::string_view token_text, int32_t id) {
  if (find(token_text) >= 0) return false;
  if ((entries_.size() + 1) * 2 > slots_.size()) rehash(std::max<size_t>(16, slots_.size() * 2));
  size_t at = slot_of(token_text, slots_.size());
  while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
  entries_.push_back({arena_.size(), static_cast<uint32_t>(token_text.size()), id});
  arena_ += token_text;
  slots_[at] = static_cast<uint32_t>(entries_.size());
  max_id_ = std::max(max_id_, id);
  return true;
}

int32_t Vocabulary::find(std::string_view token_text) const {
  if (slots_.empty()) return -1;
  for (size_t at = slot_of(token_text, slots_.size()); slots_[at] != 0;
       at = (at + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (token(entry) == token_text) return entry.id;
  }
  return -1;
}

}  // namespace encode
