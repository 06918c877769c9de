// What the class of a tokenizer changes in transformers 4.57.6, beyond its files: the special
// tokens that it has if no file states others, and the parts that its constructor replaces.
// docs/tokenizers.md has the table and its sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/load/tokenizer_class.h"

namespace encode {

// A special token of a class.
struct ClassToken {
  std::string_view key;  // "mask_token"
  std::string_view content;
};

// Which keys of special tokens a class turns from a text into an AddedToken. transformers adds an
// AddedToken again even if the tokenizer has the token already, and so changes its flags.
enum class TokenForm : uint8_t {
  kText,            // none
  kMask,            // the mask, with lstrip
  kMaskNormalized,  // the same, but searched for in normalized text
  kAll,             // all, and the mask with lstrip
  kAllPlain,        // all, and none with lstrip
};

enum class NormalizerRule : uint8_t {
  kFile,   // the normalizer of the file
  kBert,   // do_lower_case, strip_accents and tokenize_chinese_chars decide
  kMpnet,  // do_lower_case and strip_accents decide
};

enum class TemplateRule : uint8_t {
  kFile,           // the post-processor of the file
  kBosEos,         // add_bos_token (default true) and add_eos_token (default false) decide
  kNoBosEos,       // the same, with the default false for both
  kEos,            // add_eos_token (default false) decides, and no token comes before a text
  kLanguageLast,   // eos_token and src_lang (default "en_XX") after a text
  kLanguageFirst,  // src_lang before a text, eos_token after it
  kNllb,           // kLanguageFirst with "eng_Latn", or kLanguageLast if legacy_behaviour is true
};

// When a class adds its own additional special tokens.
enum class OwnTokens : uint8_t { kIfNoneStated, kBeforeStated, kAfterStated };

enum class PrefixSpaceRule : uint8_t {
  kFile,          // the pre-tokenizer of the file
  kPreTokenizer,  // add_prefix_space (default false) decides for the outermost pre-tokenizer
  kEverywhere,    // as kPreTokenizer, but true also changes pre-tokenizers in a Sequence
  kLlama,         // if the key is stated, the normalizer and the pre-tokenizer are made anew
  kT5,            // if the key is stated, the pre-tokenizer is made anew
};

// Tells whether encode can load a tokenizer.json with the rules of the class.
enum class ClassSupport : uint8_t {
  kBuilt,
  kSlowOnly,  // transformers does not read tokenizer.json for this class
  kNotBuilt,  // the class has rules that encode does not know
};

struct ClassRules {
  ClassSupport support = ClassSupport::kBuilt;
  std::vector<ClassToken> tokens = {};
  TokenForm form = TokenForm::kText;
  std::vector<std::string> additional = {};  // the additional special tokens of the class
  OwnTokens own_tokens = OwnTokens::kIfNoneStated;
  bool extra_ids = false;  // T5's <extra_id_0> to <extra_id_99>
  NormalizerRule normalizer = NormalizerRule::kFile;
  TemplateRule special = TemplateRule::kFile;
  PrefixSpaceRule prefix_space = PrefixSpaceRule::kPreTokenizer;
  // True: only transformers 5 loads the class. There a special token that is known already keeps
  // its flags, and extra_special_tokens takes the place of additional_special_tokens.
  bool as_version_5 = false;
  bool type_ids = false;  // the class hands token_type_ids to the model
  // True: the tokenizer is refused without a list of additional special tokens. The class has a
  // long one of its own.
  bool needs_additional = false;
  bool needs_sequence = false;  // the pre-tokenizer must be a Sequence
};

// Returns the rules of a class. Does not throw Error.
ClassRules class_rules(TokenizerClass value);

}  // namespace encode
