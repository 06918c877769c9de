// The sentences, words and grapheme clusters of a text, as places where a passage may end. Each of
// them ends where a cluster ends. The functions throw no Error, and any number of threads may call
// them. The texts must be valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace encode {

// A sentence, with the white space and the blank lines after it. Only a text of white space has a
// sentence of white space.
struct Sentence {
  size_t begin = 0, end = 0;      // bytes
  bool begins_paragraph = false;  // it is the first one, or an empty line is before it
  int64_t pieces = 0;             // count_pieces() of the sentence
  // For the user of the window:
  int64_t tokens = -1;            // -1: not known
  std::vector<int32_t> ids = {};  // empty: not known
};

// Finds the sentences of a text one after the other, and keeps those that are still needed. Not
// thread-safe.
class SentenceWindow {
 public:
  explicit SentenceWindow(std::string_view utf8) : utf8_(utf8) {}

  std::string_view text() const { return utf8_; }

  // Returns sentence `i`, or nullptr if the text has no such sentence. The pointer is valid until
  // the sentence is dropped. The sentence must not have been dropped.
  Sentence* at(size_t i);
  // Returns the number of the sentence that has the byte `at`, which must be below the size of the
  // text. The sentence must not have been dropped.
  size_t index_of(size_t at);
  // Returns count_pieces() of the bytes [begin, end) of the text. Their sentences must not have
  // been dropped.
  int64_t pieces(size_t begin, size_t end);
  // Drops the sentences that end at `at` or before.
  void drop_before(size_t at);

 private:
  void find_next();
  // Finds the end of the sentence that begins at `begin`, where blank lines are sentences too.
  void look_ahead(size_t begin);
  // Returns the end of the sentence that begins at `begin`, moved to the end of a cluster.
  size_t end_of(size_t begin);
  bool begins_cluster(size_t at);

  std::string_view utf8_;
  std::deque<Sentence> sentences_;
  size_t dropped_ = 0;   // the number of dropped sentences
  size_t found_ = 0;     // the end of the last sentence
  size_t next_end_ = 0;  // the end of the sentence at found_, if it is above found_
  bool next_is_blank_ = false;
  size_t clusters_to_ = 0;  // a cluster ends here, and no sentence that is not found ends before
  bool after_gap_ = true;   // a paragraph begins at found_
};

// Returns the number of code points.
int64_t count_code_points(std::string_view utf8);

// Returns the number of words, of signs, and of characters from U+0800 on. The tokens of a text are
// nearly proportional to it, so it predicts them from those of a similar text.
int64_t count_pieces(std::string_view utf8);

// Returns the end of the word that begins at `begin`: the end of the white space after it, or of a
// letter of a script without spaces before another one. The word ends at `limit` at the latest, and
// after the first cluster that ends at begin + max_bytes or later.
size_t word_end(std::string_view utf8, size_t begin, size_t limit, size_t max_bytes);
// Returns whether a word ends before the byte `at`, which must be above 0 and below the size.
bool begins_word(std::string_view utf8, size_t at);

}  // namespace encode
