#include "tokenizer/alignment.h"

#include <algorithm>

namespace encode {
namespace {

std::vector<char32_t> decode_all(std::string_view text) {
  std::vector<char32_t> code_points;
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const unicode::Decoded d = unicode::decode(p, end);
    code_points.push_back(d.code_point);
    p += d.size;
  }
  return code_points;
}

}  // namespace

void Rewriting::replace(std::string_view old, std::string_view fresh) {
  const auto old_count = static_cast<int32_t>(decode_all(old).size());
  const std::vector<char32_t> code_points = decode_all(fresh);
  const auto count = static_cast<int32_t>(code_points.size());
  for (int32_t i = 0; i < count; ++i)
    add(code_points[static_cast<size_t>(i)], i < old_count ? 0 : 1);
  // Removed code points belong to the new code point before them. At the beginning of a text there
  // is no such code point. The removed code points are then lost, and all later offsets are wrong
  // by their number. This is deliberate, because Hugging Face `tokenizers` has the same error.
  if (count < old_count && !steps_.empty()) steps_.back().change += count - old_count;
}

AlignedText::AlignedText(std::string_view row) : text_(row) {
  origins_.reserve(row.size());
  const char* end = row.data() + row.size();
  uint32_t count = 0;
  for (const char* p = row.data(); p < end; ++count) {
    const uint32_t size = unicode::decode(p, end).size;
    origins_.insert(origins_.end(), size, {count, count + 1});
    p += size;
  }
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
  AlignedText part;
  part.text_ = text_.substr(begin, end - begin);
  part.origins_.assign(origins_.begin() + static_cast<ptrdiff_t>(begin),
                       origins_.begin() + static_cast<ptrdiff_t>(end));
  part.first_ = part.origins_.empty() ? 0 : part.origins_.front().begin;
  return part;
}

void AlignedText::rewrite(const Rewriting& rewriting, size_t removed) {
  const char* old_end = text_.data() + text_.size();
  const char* p = text_.data();  // the end of the part of the old text that is already replaced
  const auto take = [&](int64_t count) {
    for (; count > 0 && p < old_end; --count) p += unicode::decode(p, old_end).size;
  };
  const auto origin_at = [this](ptrdiff_t byte) {
    const auto last = static_cast<ptrdiff_t>(origins_.size()) - 1;
    return last < 0 ? CodePoints{first_, first_}
                    : origins_[static_cast<size_t>(std::clamp<ptrdiff_t>(byte, 0, last))];
  };
  take(static_cast<int64_t>(removed));
  std::string text;
  std::vector<CodePoints> origins;
  text.reserve(text_.size());
  origins.reserve(text_.size());
  for (const Rewriting::Step& step : rewriting.steps()) {
    const ptrdiff_t at = p - text_.data();
    const CodePoints origin = origin_at(step.change > 0 ? at - 1 : at);
    if (step.change <= 0) take(1 - int64_t{step.change});
    unicode::append_utf8(text, step.code_point);
    origins.resize(text.size(), origin);
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

void AlignedText::prepend(std::string_view prefix) {
  if (text_.empty()) return;
  const size_t first_size = unicode::decode(text_.data(), text_.data() + text_.size()).size;
  if (prefix.empty()) {
    // Gives the first character an empty range as its origin, as Hugging Face `tokenizers` does.
    std::fill_n(origins_.begin(), first_size, CodePoints{first_, first_});
    return;
  }
  text_.insert(0, prefix);
  origins_.insert(origins_.begin(), prefix.size(), CodePoints(origins_.front()));
}

void AlignedText::replace(std::span<const Match> matches, std::string_view content) {
  std::string text;
  std::vector<CodePoints> origins;
  for (const Match& match : matches) {
    if (match.is_match) {
      text += content;
      origins.resize(text.size(), origins_[match.end - 1]);
    } else {
      text.append(text_, match.begin, match.end - match.begin);
      origins.insert(origins.end(), origins_.begin() + match.begin, origins_.begin() + match.end);
    }
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

void AlignedText::narrow(size_t begin, size_t end) {
  const uint32_t first = first_;
  *this = slice(begin, end);
  first_ = first;
}

CodePoints covered(std::span<const CodePoints> origins, size_t begin, size_t end) {
  if (begin < end) return {origins[begin].begin, origins[end - 1].end};
  if (origins.empty()) return {};
  const uint32_t at = begin < origins.size() ? origins[begin].begin : origins.back().end;
  return {at, at};
}

}  // namespace encode
