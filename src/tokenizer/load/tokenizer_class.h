// The class of a tokenizer in transformers. It decides which files beside tokenizer.json change the
// ids, and how a tokenizer is made from the older files.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/tokenizer_file.h"

namespace encode {

// The classes that an embedding model uses. The ending "Fast" of a name makes no difference.
enum class TokenizerClass : uint8_t {
  kUnknown,  // a class that is not in the table, or none
  kAlbert,
  kBackend,  // TokenizersBackend, the name of transformers 5 for tokenizer.json as it is
  kBart,
  kBert,
  kBigBird,
  kBloom,
  kCamembert,
  kClip,
  kCodeGen,
  kCodeLlama,
  kCohere,
  kConvBert,
  kDeberta,
  kDebertaV2,
  kDistilBert,
  kElectra,
  kEsm,
  kFunnel,
  kGemma,
  kGpt2,
  kGptNeoX,
  kHerbert,
  kLayoutLM,
  kLlama,
  kLongformer,
  kMBart,
  kMBart50,
  kMobileBert,
  kMpnet,
  kMt5,
  kNllb,
  kNotBuilt,    // a class of transformers with rules that encode does not know
  kPreTrained,  // PreTrainedTokenizerFast: tokenizer.json as it is
  kQwen2,
  kRemBert,
  kRoberta,
  kSlowOnly,  // a class of transformers that does not read tokenizer.json
  kSqueezeBert,
  kT5,
  kXlm,
  kXlmRoberta,
  kXlnet,
};

// A row of the table of classes.
struct TokenizerClassRow {
  TokenizerClass value;
  std::string_view name;  // without "Fast"
  // The values of "model_type" for which transformers 4.57.6 takes the class if no file states one
  // (TOKENIZER_MAPPING_NAMES of models/auto/tokenization_auto.py).
  std::vector<std::string_view> model_types;
};
std::span<const TokenizerClassRow> tokenizer_classes();

// The tokens that CamembertTokenizer has in place of <s>, </s> and <unk> of the .model file.
inline constexpr std::array<std::string_view, 3> kCamembertUnused = {"<s>NOTUSED", "</s>NOTUSED",
                                                                     "<unk>NOTUSED"};

// The class that AutoTokenizer chooses, and what states it.
struct ChosenClass {
  TokenizerClass value = TokenizerClass::kUnknown;
  std::string name;   // as it is stated; "" if there is no class
  std::string where;  // what states it, for messages: "tokenizer_config.json: tokenizer_class"
};

// Returns the class of a tokenizer: the one that tokenizer_config.json states (`stated`, "" if it
// states none), else the one that config.json states, else the one of its model_type. Does not
// throw Error.
ChosenClass choose_tokenizer_class(const TokenizerSource& source, const std::string& stated);

}  // namespace encode
