#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

bool has(const unicode::Decoded& d, uint32_t property) {
  return (unicode::properties()[d.code_point] & property) != 0;
}

bool ends_with_word(std::string_view text) {
  const char* begin = text.data();
  return !text.empty() && has(unicode::decode_before(begin, begin + text.size()), unicode::kWord);
}

bool starts_with_word(std::string_view text) {
  return !text.empty() &&
         has(unicode::decode(text.data(), text.data() + text.size()), unicode::kWord);
}

size_t without_trailing_space(std::string_view text) {
  const char* end = text.data() + text.size();
  while (end > text.data()) {
    const unicode::Decoded d = unicode::decode_before(text.data(), end);
    if (!has(d, unicode::kWhitespace)) break;
    end -= d.size;
  }
  return static_cast<size_t>(end - text.data());
}

size_t leading_space(std::string_view text) {
  const char* end = text.data() + text.size();
  const char* p = text.data();
  while (p < end) {
    const unicode::Decoded d = unicode::decode(p, end);
    if (!has(d, unicode::kWhitespace)) break;
    p += d.size;
  }
  return static_cast<size_t>(p - text.data());
}

}  // namespace

bool same_token(const AddedToken& a, const AddedToken& b) {
  return a.content == b.content && a.single_word == b.single_word && a.lstrip == b.lstrip &&
         a.rstrip == b.rstrip && a.normalized == b.normalized && a.special == b.special;
}

AddedTokenFinder::AddedTokenFinder(std::vector<std::pair<std::string, AddedToken>> tokens)
    : tokens_(std::move(tokens)) {
  std::vector<ByteTrie::Entry> entries;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& pattern = tokens_[i].first;
    entries.emplace_back(pattern, static_cast<int32_t>(i));
    bool& is_first = is_first_[static_cast<unsigned char>(pattern.front())];
    if (!is_first) first_bytes_.push_back(pattern.front());
    is_first = true;
  }
  if (!entries.empty()) trie_ = ByteTrie(entries);
}

AddedTokenFinder::Found AddedTokenFinder::next(std::string_view text, size_t from) const {
  const char* end = text.data() + text.size();
  for (const char* p = text.data() + from; p < end; ++p) {
    if (first_bytes_.size() == 1) {
      p = static_cast<const char*>(std::memchr(p, first_bytes_[0], static_cast<size_t>(end - p)));
      if (p == nullptr) break;
    } else if (!is_first_[static_cast<unsigned char>(*p)]) {
      continue;
    }
    const ByteTrie::Found found = trie_.longest(ByteTrie::kRoot, p, end);
    if (found.id < 0) continue;
    const auto begin = static_cast<size_t>(p - text.data());
    return {begin, begin + found.size, &tokens_[static_cast<size_t>(found.id)].second};
  }
  return {text.size(), text.size(), nullptr};
}

bool AddedTokenFinder::has_special(int32_t id) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [id](const auto& token) {
    return token.second.id == id && token.second.special;
  });
}

bool AddedTokenFinder::joins_between_words() const {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return std::ranges::none_of(tokens_, [&](const auto& entry) {
    const auto& [pattern, token] = entry;
    for (size_t i = 1; i < pattern.size(); ++i) {
      if (pattern[i] == ' ' && is_letter(pattern[i - 1])) return true;
    }
    return (token.rstrip && is_letter(pattern.back())) ||
           (token.single_word && pattern.front() == ' ');
  });
}

bool AddedTokenFinder::joins_after_spaces() const {
  return std::ranges::none_of(tokens_, [](const auto& entry) {
    return entry.first.find_first_of(" \n") != std::string::npos;
  });
}

void AddedTokenFinder::split(std::string_view text, std::vector<Section>& sections) const {
  const auto push_text = [&](size_t begin, size_t end) {
    if (begin < end) sections.push_back({text.substr(begin, end - begin), -1});
  };
  size_t done = 0;
  for (Found found = next(text, trie_.empty() ? text.size() : 0); found.token != nullptr;
       found = next(text, found.end)) {
    size_t begin = found.begin;
    size_t end = found.end;
    const AddedToken& token = *found.token;
    if (token.hidden) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
      continue;
    // White space between two tokens belongs to at most one of them. If the next token is found
    // inside the white space that the last token includes, the white space after the next token is
    // text. Hugging Face `tokenizers` does the same.
    if (token.lstrip) begin = std::max(without_trailing_space(text.substr(0, begin)), done);
    if (token.rstrip) end += leading_space(text.substr(end));
    push_text(done, begin);
    sections.push_back({text.substr(begin, std::max(begin, end) - begin), token.id});
    done = end;
  }
  push_text(done, text.size());
}

}  // namespace encode
