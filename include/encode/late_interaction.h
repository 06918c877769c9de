// What a late-interaction model of PyLate or sentence-transformers 6 does to the tokens of a
// document. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// The settings of the model directory that apply to documents. Tokens are given as the vocabulary
// of the tokenizer spells them. The comments quote the names of PyLate.
struct LateInteraction {
  // The token that is put after the first token of every text ("document_prefix"); "": none is.
  std::string marker;
  // The tokens whose vectors are left out of the result ("skiplist_words"). The model reads them.
  std::vector<std::string> skip_words;
  // "unk_token" of the tokenizer; "" if it states none. As in PyLate, it takes the place of a skip
  // word that the vocabulary does not have.
  std::string unknown_token;
  // True: a skip word that the vocabulary does not have is ignored instead, as in
  // sentence-transformers 6.
  bool drops_unknown_words = false;

  // The smallest valid max_length of a document: one token, and the marker if there is one.
  int64_t least_length() const { return marker.empty() ? 1 : 2; }
  bool operator==(const LateInteraction&) const = default;
};

}  // namespace encode
