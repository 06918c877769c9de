// Searches the places where a text is cut into passages. Any number of threads may call the
// function, each with its own objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encode/tokenizer.h"
#include "encode/types.h"

#include "tokenizer/passages.h"
#include "tokenizer/text_units.h"

namespace encode {

// Counts the tokens of parts of one text. A part is [begin, end) in bytes, and both are ends of
// grapheme clusters. Not thread-safe. The functions throw what Tokenizer::encode() throws.
class TokenCounter {
 public:
  virtual ~TokenCounter() = default;

  // Returns the tokens of a sentence, a word or a cluster, without those around the text.
  virtual int64_t count_unit(size_t begin, size_t end) = 0;
  // Returns the tokens of a sentence, and may set Sentence::ids.
  virtual int64_t count_sentence(Sentence& sentence) {
    return count_unit(sentence.begin, sentence.end);
  }
  // Returns the tokens of a passage with those around it, before it is truncated. `row` becomes the
  // sequence of the passage, or empty if it has none of its own. No sentence after `begin` may have
  // been dropped.
  virtual int64_t count_passage(size_t begin, size_t end, TokenizedRows& row) = 0;
};

struct CutRule {
  PassageRule passages;
  int64_t room = 0;  // passages.max_tokens without the tokens around a passage
};

// Appends the passages of the text to cut.passages, and the sequences of those that have one to
// cut.sequences. Both are empty before; the other members do not change. PassageCutter::cut() has
// the promises. Throws what `counter` throws.
void cut_text(const CutRule& rule, SentenceWindow& sentences, TokenCounter& counter, CutText& cut);

}  // namespace encode
