// Added tokens are special tokens and tokens that were added after training. They are cut out of
// the text before the model sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/models/byte_trie.h"

namespace encode {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // the token counts only if no word character is next to it
  bool lstrip = false;       // the token takes the white space before it along
  bool rstrip = false;       // the token takes the white space after it along
  bool normalized = false;   // the token is normalized, and looked for in normalized text
  bool special = false;
};

// Finds added tokens of one kind (raw or normalized). The leftmost token wins, and the longest
// token of those that begin at the same place.
class AddedTokenFinder {
 public:
  // A part of a text: an added token, or the text between two of them (id -1).
  struct Section {
    std::string_view text;
    int32_t id;
  };

  AddedTokenFinder() = default;
  // Each pair is the string to look for and its token. The strings are distinct and not empty.
  explicit AddedTokenFinder(std::vector<std::pair<std::string, AddedToken>> tokens);

  // True if `predicate(string)` holds for the string of at least one token.
  template <typename Predicate>
  bool any_pattern(Predicate&& predicate) const {
    for (const auto& token : tokens_) {
      if (predicate(token.first)) return true;
    }
    return false;
  }

  // Appends the sections of `text`, in order. A text without an added token is one section, and an
  // empty text has no section.
  void split(std::string_view text, std::vector<Section>& sections) const;

 private:
  struct Found {
    size_t begin, end;
    const AddedToken* token;  // null: no token is left
  };
  Found next(std::string_view text, size_t from) const;

  std::vector<std::pair<std::string, AddedToken>> tokens_;
  ByteTrie trie_;            // maps a string to its index in tokens_
  std::string first_bytes_;  // the first byte of every string, each byte once
  bool is_first_[256] = {};
};

}  // namespace encode
