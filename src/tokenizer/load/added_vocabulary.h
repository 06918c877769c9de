// The added tokens of a tokenizer while the tokenizer is made, and the ids that new tokens get.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// The id that a file states for a token.
struct StatedId {
  int32_t id;
  std::string where;  // the directory or the file of the tokenizer
  std::string file;   // the file that states the id, in words for a message
};

// Follows AddedVocabulary of Hugging Face `tokenizers` 0.22. `vocabulary` must outlive it. Not
// thread-safe.
class AddedVocabulary {
 public:
  explicit AddedVocabulary(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Adds a token that has an id.
  void add_with_id(const AddedToken& token);
  // Adds a token and ignores its id. If the tokenizer has a token with this content, that token
  // gets the new flags, but keeps its `normalized`. A new token gets the id that it has in the
  // vocabulary, or else the next free id.
  void add(AddedToken token);

  // Returns true if add() has changed anything.
  bool changed() const { return changed_; }
  bool has(const std::string& content) const { return index_.contains(content); }
  // Returns the id of a token of the vocabulary or of an added token, or -1 if there is none.
  int32_t find(const std::string& content) const;
  // Throws Error kConfig "tokenizer.contradiction" if the token has another id than the one that is
  // stated for it. Does nothing for an empty token.
  void require_id(const std::string& content, const StatedId& stated) const;
  // Returns the "added_tokens" of a tokenizer.json. Throws Error kConfig "tokenizer.contradiction"
  // if a token was added once to be searched for in raw text, and once in normalized text. `where`
  // names the file for messages.
  Json to_json(const std::string& where) const;
  // Returns the same list, but a token that is searched for in both texts is in the list twice.
  Json to_json_of_both_texts() const;

 private:
  struct Entry {
    AddedToken token;
    bool was_special = false;
    // Where the token is searched for. Adding the token again can add a text, but never removes
    // one.
    bool in_raw_text = false;
    bool in_normalized_text = false;
  };
  bool has_same(const AddedToken& token) const;
  // Returns the entry of the token, with the flags of the token.
  Entry& put(const AddedToken& token);
  int32_t next_id() const;

  const Vocabulary& vocabulary_;
  std::vector<Entry> entries_;           // in the order of their first addition
  std::map<std::string, size_t> index_;  // the index in entries_ of a content
  bool changed_ = false;
};

}  // namespace encode
