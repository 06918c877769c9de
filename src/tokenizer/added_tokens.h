// Added tokens are special tokens and tokens that were added after training. The tokenizer finds
// them in a text first, and the model tokenizes only the text between them.
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
  bool single_word = false;  // the token is found only if no word character is next to it
  bool lstrip = false;       // the token includes the white space before it
  bool rstrip = false;       // the token includes the white space after it
  bool normalized = false;   // the normal form of the token is searched for in normalized text
  bool special = false;
  // The token is not searched for in a text. It still hides the tokens that begin inside it.
  bool hidden = false;
};

// Returns true if two tokens have the same content and flags. Their ids do not count.
bool same_token(const AddedToken& a, const AddedToken& b);

// Finds added tokens of one kind (raw or normalized). It finds the leftmost token first. If several
// tokens begin at the same place, it finds the longest. Immutable. Any number of threads may use
// it. It throws no Error.
class AddedTokenFinder {
 public:
  // A part of a text: an added token, or text between added tokens (id -1).
  struct Section {
    std::string_view text;
    int32_t id;
  };

  AddedTokenFinder() = default;
  // Each pair is a string to search for and its token. The strings must be distinct and not empty.
  explicit AddedTokenFinder(std::vector<std::pair<std::string, AddedToken>> tokens);

  // Returns whether a special token has this id.
  bool has_special(int32_t id) const;

  // Returns whether no token is found, or left, because of what is across a place that JoinPlaces
  // names.
  bool joins_between_words() const;
  bool joins_after_spaces() const;

  // Appends the sections of `text`, in order. A text without an added token is one section, and an
  // empty text has no section. The sections are views of `text`.
  void split(std::string_view text, std::vector<Section>& sections) const;

 private:
  struct Found {
    size_t begin, end;
    const AddedToken* token;  // null if the text has no more tokens
  };
  Found next(std::string_view text, size_t from) const;

  std::vector<std::pair<std::string, AddedToken>> tokens_;
  ByteTrie trie_;            // maps each string to its index in tokens_
  std::string first_bytes_;  // the first bytes of the strings, each byte once
  bool is_first_[256] = {};
};

}  // namespace encode
