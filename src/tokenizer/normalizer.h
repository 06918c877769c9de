// The first stage: rewrites text. One class for each normalizer type of tokenizer.json, same names,
// same results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/alignment.h"
#include "tokenizer/text_buffer.h"

namespace encode {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Leaves text.view() alone where the text is already in normal form. Thread-safe.
  virtual void normalize(TextBuffer& text) const = 0;
  // The same, with where each byte comes from.
  virtual void normalize_aligned(AlignedText& text) const = 0;

  // True where nothing on one side of a border between an ASCII letter and the space after it has
  // an effect on what the other side becomes (white space at the ends of the text may go). Steps
  // before this one may have put U+2581 in the space's place.
  virtual bool is_local() const { return false; }
};

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;  // tokenizer.json's null means: as `lowercase`
  bool lowercase = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };
std::unique_ptr<Normalizer> make_unicode_normalizer(NormalizationForm form);

std::unique_ptr<Normalizer> make_lowercase_normalizer();
void lowercase_aligned(AlignedText& text);  // what it does to an aligned text
std::unique_ptr<Normalizer> make_strip_accents_normalizer();
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right);
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string prefix);
std::unique_ptr<Normalizer> make_nmt_normalizer();
std::unique_ptr<Normalizer> make_byte_level_normalizer();

class TextPattern;  // text_pattern.h
std::unique_ptr<Normalizer> make_replace_normalizer(std::unique_ptr<TextPattern> pattern,
                                                    std::string content);

std::unique_ptr<Normalizer> make_replace_byte_normalizer(char from,
                                                         std::string content);  // `from` is ASCII

std::unique_ptr<Normalizer> make_normalizer_sequence(
    std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace encode
