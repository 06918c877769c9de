#include "tokenizer/text_cutter.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/unicode/grapheme_break.h"

namespace encode {
namespace {

// A rest of the text with at most this many bytes for each token of a passage is first tried as a
// whole, because it nearly always fits.
constexpr int64_t kSureBytesPerToken = 3;
// A unit with more bytes for each token of a passage is cut, and never tokenized as a whole: it
// would be tokenized again for each passage in it.
constexpr int64_t kMostBytesPerToken = 16;
constexpr int64_t kTooManyTokens = std::numeric_limits<int64_t>::max();
// A passage is full if at most this part of it is empty. It is filled up at most kMaxRefills times.
constexpr int64_t kEmptyPart = 16;
constexpr int kMaxRefills = 8;

// A passage while units are added to it.
struct Filling {
  size_t end = 0;
  int64_t room = 0;    // the tokens that it still has room for
  bool empty = false;  // it has no unit yet
};

// Cuts one text. It would take too long to tokenize every passage that might fit, so a guess comes
// first: by the tokens of the passage before (count_pieces()), or by the tokens that each unit (a
// sentence, a word, a cluster) has alone. Then the passage itself is tokenized. It loses units
// until it fits, or gets more until it is full.
class TextCutter {
 public:
  TextCutter(const CutRule& rule, SentenceWindow& sentences, TokenCounter& counter)
      : rule_(rule), utf8_(sentences.text()), sentences_(sentences), counter_(counter) {}

  void cut(CutText& cut) {
    size_t begin = 0;
    size_t last_end = 0;
    Passage passage;
    for (;;) {
      size_t end = fit(begin);
      if (begin < last_end && end <= last_end) {  // only the overlap fits
        passage.char_begin += count_code_points(utf8_.substr(begin, last_end - begin));
        begin = last_end;
        end = fit(begin);
      }
      passage.byte_begin = static_cast<int64_t>(begin);
      passage.byte_end = static_cast<int64_t>(end);
      passage.char_end = passage.char_begin + count_code_points(utf8_.substr(begin, end - begin));
      cut.passages.push_back(passage);
      cut.sequences.append(row_);
      if (end >= utf8_.size()) return;
      last_end = end;
      const size_t next = next_begin(begin, end);
      passage.char_begin =
          next == end ? passage.char_end
                      : passage.char_begin + count_code_points(utf8_.substr(begin, next - begin));
      begin = next;
      sentences_.drop_before(begin);
    }
  }

 private:
  size_t max_tokens() const { return static_cast<size_t>(rule_.passages.max_tokens); }
  size_t most_bytes() const { return max_tokens() * kMostBytesPerToken; }
  bool by(PassageUnit unit) const { return rule_.passages.by == unit; }

  int64_t tokens_of(size_t begin, size_t end) { return counter_.count_unit(begin, end); }

  int64_t tokens_of(Sentence& sentence) {
    if (sentence.tokens < 0) {
      const bool too_long = sentence.end - sentence.begin > most_bytes();
      sentence.tokens = too_long ? kTooManyTokens : counter_.count_sentence(sentence);
    }
    return sentence.tokens;
  }

  // Returns the tokens of the paragraph from sentence `i` on, or kTooManyTokens if they are more
  // than `room`. `end` becomes the number of the sentence after the paragraph.
  int64_t tokens_of_paragraph(size_t i, int64_t room, size_t& end) {
    int64_t tokens = 0;
    for (end = i; Sentence* sentence = sentences_.at(end); ++end) {
      if (end > i && sentence->begins_paragraph) break;
      const int64_t more = tokens_of(*sentence);
      if (more > room - tokens) return kTooManyTokens;
      tokens += more;
    }
    return tokens;
  }

  // Fills `row_` and `tokens_` for a passage, and returns its tokens.
  int64_t tokenize(size_t begin, size_t end) {
    tokens_ = counter_.count_passage(begin, end, row_);
    return tokens_;
  }

  static bool add(size_t end, int64_t tokens, Filling& filling) {
    if (tokens > filling.room) return false;
    filling = {.end = end, .room = filling.room - tokens, .empty = false};
    return true;
  }

  // Adds clusters up to `limit`. An empty passage gets one cluster even if there is no room for it.
  void add_clusters(size_t limit, Filling& filling) {
    while (filling.end < limit) {
      const size_t end = unicode::cluster_end(utf8_, filling.end);
      if (add(end, tokens_of(filling.end, end), filling)) continue;
      if (filling.empty) filling = {.end = end, .room = 0, .empty = false};
      return;
    }
  }

  // Adds words up to `limit`. Adds clusters of a word that does not fit into an empty passage, and
  // of a word that is already cut at filling.end.
  void add_words(size_t limit, Filling& filling) {
    bool cut_word = !begins_unit(filling.end);
    while (filling.end < limit) {
      const size_t end = word_end(utf8_, filling.end, limit, most_bytes());
      if (!cut_word) {
        if (add(end, tokens_of(filling.end, end), filling)) continue;
        if (!filling.empty) return;
      }
      add_clusters(end, filling);
      if (filling.end < end) return;
      cut_word = false;
    }
  }

  // Returns whether a sentence or a word begins at `at`.
  bool begins_unit(size_t at) {
    return sentences_.at(sentences_.index_of(at))->begin == at || begins_word(utf8_, at);
  }

  // Adds as many units as there is room for, from filling.end on.
  void add_units(Filling& filling) {
    size_t i = sentences_.index_of(filling.end);
    if (Sentence* sentence = sentences_.at(i); filling.end > sentence->begin) {
      const size_t limit = sentence->end;
      add_words(limit, filling);
      if (filling.end < limit) return;
      ++i;
    }
    bool cut_paragraph = true;
    for (; Sentence* sentence = sentences_.at(i); ++i) {
      if (sentence->begins_paragraph) cut_paragraph = false;
      if (by(PassageUnit::kParagraph) && !cut_paragraph) {
        size_t after = i;
        const int64_t tokens = tokens_of_paragraph(i, filling.room, after);
        if (tokens != kTooManyTokens) {
          i = after - 1;
          add(sentences_.at(i)->end, tokens, filling);
          continue;
        }
        if (!filling.empty) return;
        cut_paragraph = true;
      }
      const size_t end = sentence->end;
      if (add(end, tokens_of(*sentence), filling)) continue;
      if (!filling.empty && !by(PassageUnit::kToken)) return;
      add_words(end, filling);
      if (filling.end < end) return;
    }
  }

  // Returns the end of the first half of a passage, which has at least one cluster.
  size_t half(size_t begin, size_t end) const {
    size_t at = unicode::cluster_end(utf8_, begin);
    for (;;) {
      const size_t next = unicode::cluster_end(utf8_, at);
      if (next > begin + (end - begin) / 2) return at;
      at = next;
    }
  }

  // Returns the end of the passage that begins at `begin`, and fills `row_` and `tokens_`.
  size_t fit(size_t begin) {
    const size_t rest = utf8_.size() - begin;
    if (rest <= max_tokens() * kSureBytesPerToken &&
        tokenize(begin, utf8_.size()) <= rule_.passages.max_tokens)
      return utf8_.size();
    size_t end = fit_guess(begin);
    if (end == begin) end = fit_units(begin);
    last_pieces_ = sentences_.pieces(begin, end);
    last_tokens_ = tokens_ - (rule_.passages.max_tokens - rule_.room);
    return end;
  }

  // Does what fit() does, by the pieces of a token in the passage before. So only the
  // sentences at the end of the passage are tokenized alone. Returns `begin` if it finds no end.
  size_t fit_guess(size_t begin) {
    auto [end, cut_to] = guess(begin);
    while (end > begin) {
      int64_t excess = tokenize(begin, end) - rule_.passages.max_tokens;
      if (excess <= 0) return fill_up(begin, end);
      bool unit = false;
      while (end > begin && (excess > 0 || !unit)) {
        Sentence& last = *sentences_.at(sentences_.index_of(end - 1));
        excess -= std::min(excess, tokens_of(last));
        unit = last.begins_paragraph || end <= cut_to;
        end = std::max(begin, last.begin);
      }
    }
    return begin;
  }

  struct Guess {
    size_t end = 0;
    size_t cut_to = 0;  // up to here a passage may end with any sentence
  };

  // Returns the last end that the passage can probably have, or `begin`. By paragraph that is the
  // end of a paragraph, or of a sentence in the first paragraph.
  Guess guess(size_t begin) {
    const int64_t limit = last_pieces_ * rule_.room / std::max<int64_t>(1, last_tokens_);
    int64_t pieces = 0;
    Guess guess = {.end = begin, .cut_to = utf8_.size()};
    for (size_t i = sentences_.index_of(begin); const Sentence* sentence = sentences_.at(i); ++i) {
      if (by(PassageUnit::kParagraph) && sentence->begins_paragraph && sentence->begin > begin)
        guess.cut_to = std::min(guess.cut_to, sentence->begin);
      if (sentence->end - begin > most_bytes()) break;
      pieces += sentence->begin >= begin ? sentence->pieces
                                         : count_pieces(utf8_.substr(begin, sentence->end - begin));
      if (pieces > limit) break;
      const Sentence* next = sentence->end > guess.cut_to ? sentences_.at(i + 1) : nullptr;
      if (next == nullptr || next->begins_paragraph) guess.end = sentence->end;
    }
    return guess;
  }

  // Does what fit() does, by the tokens of each unit.
  size_t fit_units(size_t begin) {
    const int64_t most = rule_.passages.max_tokens;
    int64_t room = rule_.room;
    Filling filling{.end = begin, .room = room, .empty = true};
    add_units(filling);
    size_t end = filling.end;
    int64_t tokens = tokenize(begin, end);
    while (tokens > most && end > unicode::cluster_end(utf8_, begin)) {
      room = std::max<int64_t>(0, room - (tokens - most));
      filling = {.end = begin, .room = room, .empty = true};
      add_units(filling);
      end = filling.end < end ? filling.end : half(begin, end);
      tokens = tokenize(begin, end);
    }
    return tokens > most ? end : fill_up(begin, end);
  }

  // Returns whether a passage by paragraph ends inside one. The rest of it may still have room.
  bool cuts_paragraph(size_t end) {
    if (!by(PassageUnit::kParagraph)) return false;
    const Sentence& next = *sentences_.at(sentences_.index_of(end));
    return end > next.begin || !next.begins_paragraph;
  }

  // Adds units to a passage of which a large part is empty, because its units have fewer tokens
  // together than alone.
  size_t fill_up(size_t begin, size_t end) {
    const int64_t most = rule_.passages.max_tokens;
    for (int i = 0; i < kMaxRefills && end < utf8_.size(); ++i) {
      const int64_t room = most - tokens_;
      if (room * kEmptyPart <= most && !cuts_paragraph(end)) break;
      Filling filling{.end = end, .room = room, .empty = false};
      add_units(filling);
      if (filling.end == end) break;
      const int64_t tokens = counter_.count_passage(begin, filling.end, larger_row_);
      if (tokens > most) break;
      std::swap(row_, larger_row_);
      tokens_ = tokens;
      end = filling.end;
    }
    return end;
  }

  // Returns the tokens of the smallest unit that the passage after `end` must add, at least.
  int64_t tokens_after(size_t end) {
    const size_t i = sentences_.index_of(end);
    Sentence& sentence = *sentences_.at(i);
    if (end == sentence.begin && !by(PassageUnit::kToken)) {
      size_t after = i;
      return by(PassageUnit::kParagraph) && sentence.begins_paragraph
                 ? tokens_of_paragraph(i, rule_.room, after)
                 : tokens_of(sentence);
    }
    return begins_unit(end) ? tokens_of(end, word_end(utf8_, end, sentence.end, most_bytes()))
                            : tokens_of(end, unicode::cluster_end(utf8_, end));
  }

  // Returns the begin of the passage after [begin, end).
  size_t next_begin(size_t begin, size_t end) {
    if (rule_.passages.overlap == 0) return end;
    const int64_t after = tokens_after(end);
    if (after >= rule_.room) return end;
    return overlap_begin(begin, end, std::min(rule_.passages.overlap, rule_.room - after));
  }

  // Returns where the units begin that are repeated from the passage [begin, end), with at most
  // `room` tokens: whole sentences, or words if `end` cuts a sentence, or by token. The result is
  // above `begin`.
  size_t overlap_begin(size_t begin, size_t end, int64_t room) {
    size_t at = end;
    for (size_t i = sentences_.index_of(end - 1);; --i) {
      Sentence& sentence = *sentences_.at(i);
      const bool whole = at == sentence.end && sentence.begin > begin;
      if (whole && tokens_of(sentence) <= room) {
        room -= sentence.tokens;
        at = sentence.begin;
        continue;
      }
      if (at == sentence.end && !by(PassageUnit::kToken)) return at;
      at = words_before(std::max(sentence.begin, begin), at, room);
      if (at <= begin) return end;
      if (at > sentence.begin) return at;
    }
  }

  // Returns where the last words of [begin, end) begin that have at most `room` tokens, and takes
  // their tokens from `room`.
  size_t words_before(size_t begin, size_t end, int64_t& room) {
    std::vector<size_t> starts;
    for (size_t at = begin; at < end; at = word_end(utf8_, at, end, most_bytes()))
      starts.push_back(at);
    size_t at = end;
    while (!starts.empty()) {
      const int64_t tokens = tokens_of(starts.back(), at);
      if (tokens > room) break;
      room -= tokens;
      at = starts.back();
      starts.pop_back();
    }
    return at;
  }

  const CutRule& rule_;
  std::string_view utf8_;
  SentenceWindow& sentences_;
  TokenCounter& counter_;
  // Of the passage before, without what stands around it; at first what is usual.
  int64_t last_pieces_ = 3;
  int64_t last_tokens_ = 4;
  // Of the passage that fit() has found last: its sequence, and its tokens with those around it.
  TokenizedRows row_;
  int64_t tokens_ = 0;
  TokenizedRows larger_row_;
};

}  // namespace

void cut_text(const CutRule& rule, SentenceWindow& sentences, TokenCounter& counter, CutText& cut) {
  TextCutter(rule, sentences, counter).cut(cut);
}

}  // namespace encode
