#include "tokenizer/load/tokenizer_config.h"

#include "base/json.h"
#include "base/units.h"
#include "tokenizer/refusal.h"

namespace encode {

TokenizerConfig read_tokenizer_config(const std::string& text, const std::string& where) {
  const Json json =
      parse_json(text, {.max_bytes = 16 << 20, .max_depth = 32}, where, kTokenizerFormat);
  const JsonFields fields(json, where, std::string(kTokenizerFormat));
  TokenizerConfig config;
  // null is a value like any other: transformers refuses it.
  if (const auto side = json.find("truncation_side"); side != json.end()) {
    if (*side != "left" && *side != "right")
      fields.refuse("truncation_side", "\"left\" or \"right\"", preview(side->dump()));
    config.truncation_side = *side == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
  }
  // Checks the type of the field `legacy` and ignores its value. The field says how text next to
  // special tokens is tokenized, but this tokenizer does not search for special tokens in a text.
  static_cast<void>(fields.boolean_or("legacy", true));
  config.add_bos = fields.boolean_or("add_bos_token", false);
  config.add_eos = fields.boolean_or("add_eos_token", false);
  return config;
}

}  // namespace encode
