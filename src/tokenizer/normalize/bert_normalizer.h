// BertNormalizer of tokenizer.json: it cleans the text, puts spaces around CJK characters, takes
// accents off (NFD without Mn) and lowers the case. The four steps go over each stretch of text
// together; ASCII, which only the first and the last step can change, takes a table.
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
std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);

}  // namespace encode
