#include "tokenizer/text_units.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tokenizer/unicode/grapheme_break.h"
#include "tokenizer/unicode/sentence_break.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

bool is_ascii_graphic(char c) { return c > ' ' && c < 0x7F; }

bool is_ascii_space(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_white_space(char32_t c) {
  if (c < 0x80) return is_ascii_space(c);
  return (unicode::properties()[c] & unicode::kWhitespace) != 0;
}

bool is_blank(std::string_view utf8) {
  const char* end = utf8.data() + utf8.size();
  for (const char* p = utf8.data(); p < end;) {
    const unicode::Decoded next = unicode::decode(p, end);
    if (!is_white_space(next.code_point)) return false;
    p += next.size;
  }
  return true;
}

// Returns whether the white space at the end of the text has an empty line or U+2029.
bool ends_with_gap(std::string_view utf8) {
  if (!utf8.empty() && unicode::is_ascii(utf8.back()) && !is_ascii_space(utf8.back())) return false;
  int line_ends = 0;
  char32_t after = 0;
  for (const char* p = utf8.data() + utf8.size(); p > utf8.data();) {
    const unicode::Decoded last = unicode::decode_before(utf8.data(), p);
    const char32_t c = last.code_point;
    if (!is_white_space(c)) break;
    if (c == 0x2029) return true;
    const bool crlf = c == '\r' && after == '\n';
    if ((c == '\n' || c == '\r' || c == 0x85 || c == 0x2028) && !crlf) ++line_ends;
    after = c;
    p -= last.size;
  }
  return line_ends >= 2;
}

// Returns whether the character is a letter of a script that has no spaces between words: Thai,
// Lao, Myanmar, Khmer, kana, Bopomofo, and the ideographs with their compatibility forms.
bool is_unspaced_letter(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kRanges = {{{0x0E00, 0x0EFF},
                                                                     {0x1000, 0x109F},
                                                                     {0x1780, 0x17FF},
                                                                     {0x3040, 0x312F},
                                                                     {0x31A0, 0x31FF},
                                                                     {0x3400, 0x9FFF},
                                                                     {0xF900, 0xFAFF},
                                                                     {0x20000, 0x3FFFF}}};
  if (c < kRanges.front().first) return false;
  const bool in_range = std::ranges::any_of(
      kRanges, [c](const auto& range) { return c >= range.first && c <= range.second; });
  return in_range && (unicode::properties()[c] & unicode::kLetter) != 0;
}

// Returns 1 if `first` <= `byte` < `first` + `count`, and 0 otherwise. The compiler makes vector
// instructions of it.
constexpr uint8_t is_in(uint8_t byte, uint8_t first, uint8_t count) {
  return static_cast<uint8_t>(byte - first) < count ? 1 : 0;
}

constexpr uint8_t is_letter_or_digit(uint8_t byte) {
  return is_in(byte | 0x20U, 'a', 26) | is_in(byte, '0', 10);
}

// For count_pieces() a byte is a part of a word, a piece of its own, or neither. The first byte of
// a character from U+0800 on is neither, so the character begins a word at its second byte.
constexpr uint8_t is_word_byte(uint8_t byte) {
  return is_letter_or_digit(byte) | is_in(byte, 0x80, 0x60);
}

// Returns the number of pieces that begin with the byte.
constexpr uint8_t pieces_at(uint8_t before, uint8_t byte) {
  const uint8_t is_sign = is_in(byte, 0x21, 0x5E) & (is_letter_or_digit(byte) ^ 1U);
  return (is_word_byte(byte) & (is_word_byte(before) ^ 1U)) | is_sign;
}

constexpr size_t kPieceBlock = 32;  // the pieces of a block fit into a byte

// Returns the number of pieces that begin in the kPieceBlock bytes from p on. p[-1] is read, too.
uint8_t pieces_of_block(const char* p) {
  uint8_t pieces = 0;
  for (size_t i = 0; i < kPieceBlock; ++i)
    pieces += pieces_at(static_cast<uint8_t>(p[static_cast<ptrdiff_t>(i) - 1]),
                        static_cast<uint8_t>(p[i]));
  return pieces;
}

bool parts_words(char32_t before, char32_t after) {
  if (is_white_space(before)) return !is_white_space(after);
  return is_unspaced_letter(before) && is_unspaced_letter(after);
}

char32_t code_point_at(std::string_view utf8, size_t at) {
  return unicode::decode(utf8.data() + at, utf8.data() + utf8.size()).code_point;
}

char32_t code_point_before(std::string_view utf8, size_t at) {
  return unicode::decode_before(utf8.data(), utf8.data() + at).code_point;
}

}  // namespace

Sentence* SentenceWindow::at(size_t i) {
  while (i >= dropped_ + sentences_.size() && found_ < utf8_.size()) find_next();
  return i < dropped_ + sentences_.size() ? &sentences_[i - dropped_] : nullptr;
}

size_t SentenceWindow::index_of(size_t at) {
  while (found_ <= at) find_next();
  const auto found = std::ranges::upper_bound(sentences_, at, {}, &Sentence::end);
  return dropped_ + static_cast<size_t>(found - sentences_.begin());
}

void SentenceWindow::drop_before(size_t at) {
  while (!sentences_.empty() && sentences_.front().end <= at) {
    sentences_.pop_front();
    ++dropped_;
  }
}

void SentenceWindow::find_next() {
  Sentence sentence{.begin = found_, .begins_paragraph = after_gap_};
  if (next_end_ <= found_) look_ahead(found_);
  sentence.end = next_end_;
  bool blank = next_is_blank_;
  while (sentence.end < utf8_.size()) {
    look_ahead(sentence.end);
    if (!blank && !next_is_blank_) break;
    blank = blank && next_is_blank_;
    sentence.end = next_end_;
  }
  after_gap_ = ends_with_gap(utf8_.substr(sentence.begin, sentence.end - sentence.begin));
  sentence.pieces = count_pieces(utf8_.substr(sentence.begin, sentence.end - sentence.begin));
  found_ = sentence.end;
  sentences_.push_back(std::move(sentence));
}

void SentenceWindow::look_ahead(size_t begin) {
  next_end_ = end_of(begin);
  next_is_blank_ = is_blank(utf8_.substr(begin, next_end_ - begin));
}

int64_t SentenceWindow::pieces(size_t begin, size_t end) {
  int64_t pieces = 0;
  for (size_t i = index_of(begin), at_byte = begin; at_byte < end; ++i) {
    const Sentence& sentence = *at(i);
    const size_t to = std::min(end, sentence.end);
    pieces += at_byte == sentence.begin && to == sentence.end
                  ? sentence.pieces
                  : count_pieces(utf8_.substr(at_byte, to - at_byte));
    const auto byte = [this](size_t place) { return static_cast<uint8_t>(utf8_[place]); };
    // A word over the border was counted twice.
    if (at_byte > begin) pieces -= is_word_byte(byte(at_byte - 1)) & is_word_byte(byte(at_byte));
    at_byte = to;
  }
  return pieces;
}

size_t SentenceWindow::end_of(size_t begin) {
  size_t end = unicode::sentence_end(utf8_, begin);
  while (!begins_cluster(end)) end = unicode::sentence_end(utf8_, end);
  return end;
}

bool SentenceWindow::begins_cluster(size_t at) {
  if (at >= utf8_.size()) return true;
  if (at < clusters_to_) return false;
  if (unicode::is_ascii(utf8_[at]) && unicode::is_ascii(utf8_[at - 1]) && utf8_[at] != '\n') {
    clusters_to_ = at;
    return true;
  }
  // What is before an ASCII character has no influence on where clusters end after it.
  size_t p = at;
  while (p > clusters_to_ && !unicode::is_ascii(utf8_[p - 1])) --p;
  if (p > clusters_to_) --p;
  while (p < at) p = unicode::cluster_end(utf8_, p);
  clusters_to_ = p;
  return p == at;
}

int64_t count_code_points(std::string_view utf8) {
  const size_t ascii = unicode::ascii_prefix(utf8);
  return static_cast<int64_t>(ascii) + std::ranges::count_if(utf8.substr(ascii), [](char c) {
           return !unicode::is_continuation(c);
         });
}

int64_t count_pieces(std::string_view utf8) {
  if (utf8.empty()) return 0;
  int64_t pieces = pieces_at(' ', static_cast<uint8_t>(utf8.front()));
  size_t at = 1;
  for (; at + kPieceBlock <= utf8.size(); at += kPieceBlock)
    pieces += pieces_of_block(utf8.data() + at);
  std::array<char, kPieceBlock + 1> rest;
  rest.fill(' ');
  std::memcpy(rest.data(), utf8.data() + at - 1, utf8.size() - at + 1);
  return pieces + pieces_of_block(rest.data() + 1);
}

size_t word_end(std::string_view utf8, size_t begin, size_t limit, size_t max_bytes) {
  const size_t stop = std::min({limit, utf8.size(), begin + max_bytes});
  size_t at = begin;
  do {
    // The short way: no word ends between two of these characters, but a cluster does.
    while (at + 1 < stop && is_ascii_graphic(utf8[at]) && is_ascii_graphic(utf8[at + 1])) ++at;
    at = unicode::cluster_end(utf8, at);
  } while (at < stop && !begins_word(utf8, at));
  return std::min(at, limit);
}

bool begins_word(std::string_view utf8, size_t at) {
  if (unicode::is_ascii(utf8[at - 1]) && unicode::is_ascii(utf8[at]))
    return is_ascii_space(utf8[at - 1]) && !is_ascii_space(utf8[at]);
  return parts_words(code_point_before(utf8, at), code_point_at(utf8, at));
}

}  // namespace encode
