#include "tokenizer/load/class_rules.h"

#include <map>
#include <utility>

#include "tokenizer/load/slow_class_rules.h"

namespace encode {
namespace {

using Tokens = std::vector<ClassToken>;

Tokens tokens_of_bert() {
  return {{"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},
          {"pad_token", "[PAD]"},
          {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens tokens_of_roberta() {
  return {{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"unk_token", "<unk>"},
          {"sep_token", "</s>"},   {"pad_token", "<pad>"}, {"cls_token", "<s>"},
          {"mask_token", "<mask>"}};
}

Tokens tokens_of_albert() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "<unk>"},
          {"sep_token", "[SEP]"},  {"pad_token", "<pad>"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens tokens_of_deberta() {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"}, {"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},  {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Tokens tokens_of_gpt2() {
  return {{"bos_token", "<|endoftext|>"},
          {"eos_token", "<|endoftext|>"},
          {"unk_token", "<|endoftext|>"}};
}

Tokens three(std::string_view bos, std::string_view eos, std::string_view unk) {
  return {{"bos_token", bos}, {"eos_token", eos}, {"unk_token", unk}};
}

ClassRules bert_rules(bool type_ids) {
  return {.tokens = tokens_of_bert(), .normalizer = NormalizerRule::kBert, .type_ids = type_ids};
}

ClassRules mpnet_rules() {
  Tokens tokens = tokens_of_roberta();
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
  Tokens tokens = tokens_of_albert();
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
          .own_tokens = OwnTokens::kAfterStated,
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

std::vector<std::string> languages(TailPieces which) {
  const auto codes = languages_of(which);
  return {codes.begin(), codes.end()};
}

ClassRules mbart_rules() {
  return {.tokens = tokens_of_roberta(),
          .form = TokenForm::kMask,
          .additional = languages(TailPieces::kLanguages),
          .own_tokens = OwnTokens::kBeforeStated,
          .special = TemplateRule::kLanguageLast};
}

ClassRules mbart50_rules() {
  Tokens tokens = tokens_of_roberta();
  std::erase_if(tokens, [](const ClassToken& token) { return token.key == "bos_token"; });
  return {.tokens = std::move(tokens),
          .form = TokenForm::kMask,
          .additional = languages(TailPieces::kMoreLanguages),
          .own_tokens = OwnTokens::kAfterStated,
          .special = TemplateRule::kLanguageFirst};
}

ClassRules nllb_rules() {
  return {.tokens = tokens_of_roberta(),
          .form = TokenForm::kMaskNormalized,
          .special = TemplateRule::kNllb,
          .needs_additional = true};
}

ClassRules xlnet_rules() {
  Tokens tokens = funnel_rules().tokens;
  return {.tokens = std::move(tokens),
          .form = TokenForm::kMask,
          .additional = {"<eop>", "<eod>"},
          .type_ids = true};
}

ClassRules clip_rules() {
  return {.tokens = {{"bos_token", "<|startoftext|>"},
                     {"eos_token", "<|endoftext|>"},
                     {"unk_token", "<|endoftext|>"},
                     {"pad_token", "<|endoftext|>"}},
          .needs_sequence = true};
}

ClassRules herbert_rules() {
  Tokens tokens = tokens_of_roberta();
  std::erase_if(tokens, [](const ClassToken& token) {
    return token.key == "bos_token" || token.key == "eos_token";
  });
  return {.tokens = std::move(tokens), .type_ids = true};
}

}  // namespace

// A class without an entry in the table is not supported.
ClassRules class_rules(TokenizerClass value) {
  using enum TokenizerClass;
  const ClassRules roberta = {.tokens = tokens_of_roberta(), .form = TokenForm::kMask};
  const ClassRules albert = {
      .tokens = tokens_of_albert(), .form = TokenForm::kMask, .type_ids = true};
  const ClassRules deberta = {.tokens = tokens_of_deberta(), .type_ids = true};
  const ClassRules of_file = {.prefix_space = PrefixSpaceRule::kFile, .as_version_5 = true};
  const ClassRules slow_only = {.support = ClassSupport::kSlowOnly};
  const ClassRules camembert = {.tokens = tokens_of_roberta(),
                                .form = TokenForm::kMask,
                                .additional = {kCamembertUnused.begin(), kCamembertUnused.end()}};
  const std::map<TokenizerClass, ClassRules> rules = {
      {kBert, bert_rules(true)},
      {kConvBert, bert_rules(true)},
      {kElectra, bert_rules(true)},
      {kLayoutLM, bert_rules(true)},
      {kMobileBert, bert_rules(true)},
      {kSqueezeBert, bert_rules(true)},
      {kDistilBert, bert_rules(false)},
      {kFunnel, funnel_rules()},
      {kMpnet, mpnet_rules()},
      {kRoberta, roberta},
      {kLongformer, roberta},
      {kXlmRoberta, roberta},
      {kBart, {.tokens = tokens_of_roberta(), .form = TokenForm::kMaskNormalized}},
      {kCamembert, camembert},
      {kAlbert, albert},
      {kRemBert, albert},
      {kBigBird, big_bird_rules()},
      {kDeberta, deberta},
      {kDebertaV2, deberta},
      {kBloom, bloom_rules()},
      {kClip, clip_rules()},
      {kHerbert, herbert_rules()},
      {kMBart, mbart_rules()},
      {kMBart50, mbart50_rules()},
      {kNllb, nllb_rules()},
      {kXlnet, xlnet_rules()},
      {kCodeGen, {.tokens = tokens_of_gpt2()}},
      {kGpt2, {.tokens = tokens_of_gpt2()}},
      {kGptNeoX, {.tokens = tokens_of_gpt2(), .special = TemplateRule::kNoBosEos}},
      {kLlama, llama_rules()},
      {kCodeLlama, code_llama_rules()},
      {kGemma, gemma_rules()},
      {kCohere, cohere_rules()},
      {kQwen2, qwen2_rules()},
      {kT5, t5_rules()},
      {kMt5, t5_rules()},
      {kPreTrained, {.type_ids = true}},
      {kBackend, of_file},
      {kUnknown, of_file},
      {kEsm, slow_only},
      {kXlm, slow_only},
      {kSlowOnly, slow_only},
  };
  const auto found = rules.find(value);
  return found != rules.end() ? found->second : ClassRules{.support = ClassSupport::kNotBuilt};
}

}  // namespace encode
