// BertNormalizer of tokenizer.json. It has four steps: it cleans the text, puts spaces around CJK
// characters, removes accents (NFD without Mn), and lowers the case. All four are
// applied to a stretch of text before the next stretch. Only the first and the last step can change
// ASCII, so ASCII characters are looked up in a table.
#pragma once

#include <memory>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;  // null in tokenizer.json means the value of `lowercase`
  bool lowercase = true;
};
// Does not throw Error.
std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

}  // namespace encode
