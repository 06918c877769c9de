// Tokens that are cut out of the text before the model sees it: special tokens and those added
// after training.
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
  bool single_word = false;  // not where a word character is next to it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in normalized text, itself normalized
  bool special = false;
};

// Finds one kind of added tokens (raw or normalized): the leftmost, of these the longest.
class AddedTokenFinder {
 public:
  // A part of a text: an added token, or text in between (id -1).
  struct Section {
    std::string_view text;
    int32_t id;
  };

  AddedTokenFinder() = default;
  // Each token with what to look for. Patterns are distinct and not empty.
  explicit AddedTokenFinder(std::vector<std::pair<std::string, AddedToken>> tokens);

  // `predicate(what is looked for)` holds for one token at least.
  template <typename Predicate>
  bool any_pattern(Predicate&& predicate) const {
    for (const auto& token : tokens_) {
      if (predicate(token.first)) return true;
    }
    return false;
  }

  // Appends the sections of `text`, in order; a text without an added token is one section, an
  // empty one none.
  void split(std::string_view text, std::vector<Section>& sections) const;

 private:
  struct Found {
    size_t begin, end;
    const AddedToken* token;  // null: none is left
  };
  Found next(std::string_view text, size_t from) const;

  std::vector<std::pair<std::string, AddedToken>> tokens_;
  ByteTrie trie_;            // pattern -> index in tokens_
  std::string first_bytes_;  // of the patterns, each once
  bool is_first_[256] = {};
};

}  // namespace encode
