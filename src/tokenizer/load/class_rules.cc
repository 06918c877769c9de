#include "tokenizer/load/class_rules.h"

#include <utility>

namespace encode {
namespace {

using Tokens = std::vector<ClassToken>;

Tokens bert_tokens() {
  return {{"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},
          {"pad_token", "[PAD]"},
          {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens roberta_tokens() {
  return {{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"unk_token", "<unk>"},
          {"sep_token", "</s>"},   {"pad_token", "<pad>"}, {"cls_token", "<s>"},
          {"mask_token", "<mask>"}};
}

Tokens albert_tokens() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "<unk>"},
          {"sep_token", "[SEP]"},  {"pad_token", "<pad>"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens deberta_tokens() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},  {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens gpt2_tokens() {
  return {{"bos_token", "<|endoftext|>"},
          {"eos_token", "<|endoftext|>"},
          {"unk_token", "<|endoftext|>"}};
}

Tokens three(std::string_view bos, std::string_view eos, std::string_view unk) {
  return {{"bos_token", bos}, {"eos_token", eos}, {"unk_token", unk}};
}

ClassRules bert_rules(bool type_ids) {
  return {.tokens = bert_tokens(), .normalizer = NormalizerRule::kBert, .type_ids = type_ids};
}

ClassRules mpnet_rules() {
  Tokens tokens = roberta_tokens();
  for (ClassToken& token : tokens) {
    if (token.key == "unk_token") token.content = "[UNK]";
  }
  return {
      .tokens = std::move(tokens), .form = TokenForm::kAll, .normalizer = NormalizerRule::kMpnet};
}

ClassRules funnel_rules() {
  return {.tokens = {{"bos_token", "<s>"},
                     {"eos_token", "</s>"},
                     {"unk_token", "<unk>"},
                     {"sep_token", "<sep>"},
                     {"pad_token", "<pad>"},
                     {"cls_token", "<cls>"},
                     {"mask_token", "<mask>"}},
          .normalizer = NormalizerRule::kBert,
          .type_ids = true};
}

ClassRules big_bird_rules() {
  Tokens tokens = albert_tokens();
  for (ClassToken& token : tokens) {
    if (token.key == "bos_token") token.content = "<s>";
    if (token.key == "eos_token") token.content = "</s>";
  }
  return {.tokens = std::move(tokens), .form = TokenForm::kAll};
}

ClassRules llama_rules() {
  return {.tokens = three("<s>", "</s>", "<unk>"),
          .special = TemplateRule::kBosEos,
          .prefix_space = PrefixSpaceRule::kLlama};
}

ClassRules code_llama_rules() {
  return {.tokens = three("<s>", "</s>", "<unk>"),
          .additional = {"\xE2\x96\x81<PRE>", "\xE2\x96\x81<MID>", "\xE2\x96\x81<SUF>",
                         "\xE2\x96\x81<EOT>"},
          .special = TemplateRule::kBosEos};
}

ClassRules gemma_rules() {
  Tokens tokens = three("<bos>", "<eos>", "<unk>");
  tokens.push_back({"pad_token", "<pad>"});
  return {.tokens = std::move(tokens), .special = TemplateRule::kBosEos};
}

ClassRules cohere_rules() {
  return {.tokens = three("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>"),
          .special = TemplateRule::kBosEos,
          .prefix_space = PrefixSpaceRule::kEverywhere};
}

ClassRules bloom_rules() {
  Tokens tokens = three("<s>", "</s>", "<unk>");
  tokens.push_back({"pad_token", "<pad>"});
  return {.tokens = std::move(tokens), .prefix_space = PrefixSpaceRule::kEverywhere};
}

ClassRules t5_rules() {
  return {.tokens = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
          .extra_ids = true,
          .prefix_space = PrefixSpaceRule::kT5};
}

ClassRules qwen2_rules() {
  return {.tokens = {{"eos_token", "<|endoftext|>"},
                     {"unk_token", "<|endoftext|>"},
                     {"pad_token", "<|endoftext|>"}},
          .form = TokenForm::kAllPlain};
}

}  // namespace

ClassRules class_rules(TokenizerClass value) {
  using enum TokenizerClass;
  switch (value) {
    case kBert:
    case kConvBert:
    case kElectra:
    case kLayoutLM:
    case kMobileBert:
    case kSqueezeBert:
      return bert_rules(true);
    case kDistilBert:
      return bert_rules(false);
    case kFunnel:
      return funnel_rules();
    case kMpnet:
      return mpnet_rules();
    case kRoberta:
    case kLongformer:
    case kXlmRoberta:
      return {.tokens = roberta_tokens(), .form = TokenForm::kMask};
    case kBart:
      return {.tokens = roberta_tokens(), .form = TokenForm::kMaskNormalized};
    case kCamembert:
      return {.tokens = roberta_tokens(),
              .form = TokenForm::kMask,
              .additional = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}};
    case kAlbert:
    case kRemBert:
      return {.tokens = albert_tokens(), .form = TokenForm::kMask, .type_ids = true};
    case kBigBird:
      return big_bird_rules();
    case kDeberta:
    case kDebertaV2:
      return {.tokens = deberta_tokens(), .type_ids = true};
    case kBloom:
      return bloom_rules();
    case kCodeGen:
    case kGpt2:
      return {.tokens = gpt2_tokens()};
    case kGptNeoX:
      return {.tokens = gpt2_tokens(), .special = TemplateRule::kNoBosEos};
    case kLlama:
      return llama_rules();
    case kCodeLlama:
      return code_llama_rules();
    case kGemma:
      return gemma_rules();
    case kCohere:
      return cohere_rules();
    case kQwen2:
      return qwen2_rules();
    case kT5:
    case kMt5:
      return t5_rules();
    case kPreTrained:
      return {.type_ids = true};
    case kBackend:
    case kUnknown:
      return {.prefix_space = PrefixSpaceRule::kFile, .as_version_5 = true};
    case kEsm:
    case kXlm:
    case kSlowOnly:
      return {.support = ClassSupport::kSlowOnly};
    case kMBart:
    case kMBart50:
    case kNllb:
    case kNotBuilt:
      return {.support = ClassSupport::kNotBuilt};
  }
  return {};
}

}  // namespace encode
