#include "tokenizer/models/merge_borders.h"

#include <algorithm>

#include "tokenizer/unicode/unicode.h"

namespace encode {

MergeBorders::Symbol MergeBorders::symbol_at(const char* p, const char* end) const {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < ascii_.size()) return {ascii_[byte], 1};
  const unicode::Decoded d = unicode::decode_multibyte(p, end);
  return {d.code_point == unicode::kMetaspace ? metaspace_ : kOtherClass, d.size};
}

MergeBorders::MergeBorders(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                           std::span<const int32_t> stand_ins) {
  ascii_.fill(kOtherClass);
  if (vocabulary.find(unicode::kMetaspaceUtf8) >= 0) metaspace_ = kMetaspaceClass;
  const auto id_count = static_cast<size_t>(vocabulary.max_id() + 1);
  std::vector<uint8_t> first(id_count, kOtherClass);
  std::vector<uint8_t> last(id_count, kOtherClass);
  for (const auto& entry : vocabulary.entries()) {
    const std::string_view token = vocabulary.token(entry);
    if (token.size() == 1)
      ascii_[static_cast<unsigned char>(token[0])] = static_cast<uint8_t>(token[0]);
  }
  for (const auto& entry : vocabulary.entries()) {
    const std::string_view token = vocabulary.token(entry);
    if (token.empty()) continue;
    const char* begin = token.data();
    const char* end = begin + token.size();
    const auto id = static_cast<size_t>(entry.id);
    first[id] = static_cast<uint8_t>(symbol_at(begin, end).char_class);
    last[id] = static_cast<uint8_t>(
        symbol_at(end - unicode::decode_before(begin, end).size, end).char_class);
  }
  for (const BpeMerge& merge : merges)
    joined_[last[static_cast<size_t>(merge.left)]][first[static_cast<size_t>(merge.right)]] = true;
  joined_[kOtherClass][kOtherClass] = true;
  // Cuts nothing if a merge has a stand-in as a side, because the spelling of a stand-in does not
  // show which characters this merge joins.
  std::vector<bool> stands_in(id_count);
  for (const int32_t id : stand_ins) {
    if (id >= 0) stands_in[static_cast<size_t>(id)] = true;
  }
  cuts_ = std::none_of(merges.begin(), merges.end(), [&stands_in](const BpeMerge& merge) {
    return stands_in[static_cast<size_t>(merge.left)] ||
           stands_in[static_cast<size_t>(merge.right)];
  });
}

size_t MergeBorders::first_part(std::string_view text) const {
  if (!cuts_) return text.size();
  const char* end = text.data() + text.size();
  Symbol last = symbol_at(text.data(), end);
  const char* p = text.data() + last.size;
  while (p < end) {
    const Symbol next = symbol_at(p, end);
    if (!joined_[last.char_class][next.char_class]) break;
    p += next.size;
    last = next;
  }
  return static_cast<size_t>(p - text.data());
}

}  // namespace encode
