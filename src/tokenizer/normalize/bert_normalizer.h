// The BertNormalizer of tokenizer.json. It has four steps: it cleans the text, puts spaces around
// CJK characters, removes accents (NFD without nonspacing marks), and lowers the case. Only the
// first and the last step can change ASCII characters, so these are looked up in a table.
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
