#include "tokenizer/load/slow_class_rules.h"

#include <algorithm>

namespace encode {
namespace {

using enum SlowTokenForm;
using Tokens = std::vector<SlowToken>;

// The tokens of the classes that are derived from BERT.
Tokens bert_tokens() {
  return {{"unk_token", "[UNK]"},
          {"sep_token", "[SEP]"},
          {"pad_token", "[PAD]"},
          {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

// The tokens of classes that come from fairseq: <s>, <pad>, </s>, <unk>, <mask>.
Tokens fairseq_tokens(SlowTokenForm form, SlowTokenForm mask) {
  return {{"bos_token", "<s>", form},    {"eos_token", "</s>", form},  {"unk_token", "<unk>", form},
          {"sep_token", "</s>", form},   {"pad_token", "<pad>", form}, {"cls_token", "<s>", form},
          {"mask_token", "<mask>", mask}};
}

// The tokens of classes with [CLS] and [SEP] that are also BOS and EOS.
Tokens cls_sep_tokens(std::string_view unk, std::string_view pad, SlowTokenForm mask) {
  return {{"bos_token", "[CLS]"},        {"eos_token", "[SEP]"}, {"unk_token", unk},
          {"sep_token", "[SEP]"},        {"pad_token", pad},     {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]", mask}};
}

Tokens with_form(Tokens tokens, std::string_view name, SlowTokenForm form) {
  for (SlowToken& token : tokens) {
    if (name.empty() || token.name == name) token.form = form;
  }
  return tokens;
}

Tokens gpt2_tokens(SlowTokenForm form, std::string_view bos, std::string_view pad) {
  return {{"bos_token", bos, form},
          {"eos_token", "<|endoftext|>", form},
          {"unk_token", "<|endoftext|>", form},
          {"pad_token", pad, form}};
}

// The classes of models from fairseq.
std::vector<SlowClassRules> fairseq_rules() {
  using enum TokenizerClass;
  const SlowClassRules xlm_roberta = {.value = kXlmRoberta,
                                      .file = "sentencepiece.bpe.model",
                                      .tokens = fairseq_tokens(kString, kRawMask),
                                      .prefix = "<s>",
                                      .suffix = "</s>",
                                      .head = HeadPieces::kFairseq,
                                      .tail = TailPieces::kMask,
                                      .unk_id = 3};
  SlowClassRules camembert = xlm_roberta;
  camembert.value = kCamembert;
  camembert.head = HeadPieces::kCamembert;
  camembert.additional = {kCamembertUnused.begin(), kCamembertUnused.end()};
  SlowClassRules mbart = xlm_roberta;
  mbart.value = kMBart;
  mbart.tail = TailPieces::kLanguages;
  mbart.row_template = RowTemplate::kLanguageLast;
  SlowClassRules mbart50 = mbart;
  mbart50.value = kMBart50;
  mbart50.tokens = fairseq_tokens(kString, kNormalizedMask);
  mbart50.tail = TailPieces::kMoreLanguages;
  mbart50.row_template = RowTemplate::kLanguageFirst;
  return {xlm_roberta, camembert, mbart, mbart50};
}

// T5, and the classes with [CLS] and [SEP].
std::vector<SlowClassRules> unigram_rules() {
  using enum TokenizerClass;
  const SlowClassRules t5 = {.value = kT5,
                             .file = "spiece.model",
                             .tokens = {{"eos_token", "</s>", kRaw},
                                        {"unk_token", "<unk>", kRaw},
                                        {"pad_token", "<pad>", kRaw}},
                             .suffix = "</s>",
                             .tail = TailPieces::kExtraIds};
  SlowClassRules mt5 = t5;
  mt5.value = kMt5;
  const SlowClassRules albert = {.value = kAlbert,
                                 .file = "spiece.model",
                                 .tokens = cls_sep_tokens("<unk>", "<pad>", kRawMask),
                                 .prefix = "[CLS]",
                                 .suffix = "[SEP]",
                                 .normalizer = ClassNormalizer::kAlbert};
  SlowClassRules rembert = albert;
  rembert.value = kRemBert;
  rembert.file = "sentencepiece.model";
  rembert.tokens = cls_sep_tokens("[UNK]", "[PAD]", kNormalizedMask);
  rembert.normalizer = ClassNormalizer::kRemBert;
  SlowClassRules deberta = albert;
  deberta.value = kDebertaV2;
  deberta.file = "spm.model";
  deberta.tokens = with_form(cls_sep_tokens("[UNK]", "[PAD]", kString), "unk_token", kNormalized);
  deberta.normalizer = ClassNormalizer::kDeberta;
  SlowClassRules big_bird = albert;
  big_bird.value = kBigBird;
  big_bird.tokens = {{"bos_token", "<s>", kNormalized},        {"eos_token", "</s>", kNormalized},
                     {"unk_token", "<unk>", kNormalized},      {"sep_token", "[SEP]", kNormalized},
                     {"pad_token", "<pad>", kNormalized},      {"cls_token", "[CLS]", kNormalized},
                     {"mask_token", "[MASK]", kNormalizedMask}};
  big_bird.normalizer = ClassNormalizer::kNmt;
  return {t5, mt5, albert, rembert, deberta, big_bird};
}

std::vector<SlowClassRules> byte_fallback_rules() {
  using enum TokenizerClass;
  const SlowClassRules llama = {.value = kLlama,
                                .file = "tokenizer.model",
                                .tokens = {{"bos_token", "<s>", kRaw},
                                           {"eos_token", "</s>", kRaw},
                                           {"unk_token", "<unk>", kRaw},
                                           {"pad_token", "", kRaw}},
                                .row_template = RowTemplate::kBosEos,
                                .head = HeadPieces::kLlama,
                                .normalizer = ClassNormalizer::kLlama,
                                .unk_id = 0,
                                .byte_fallback = true};
  SlowClassRules gemma = llama;
  gemma.value = kGemma;
  gemma.tokens = {{"bos_token", "<bos>", kRaw},
                  {"eos_token", "<eos>", kRaw},
                  {"unk_token", "<unk>", kRaw},
                  {"pad_token", "<pad>", kRaw}};
  gemma.head = HeadPieces::kGemma;
  gemma.normalizer = ClassNormalizer::kGemma;
  gemma.unk_id = 3;
  return {llama, gemma};
}

std::vector<SlowClassRules> vocabulary_rules() {
  using enum TokenizerClass;
  std::vector<SlowClassRules> rules;
  const SlowClassRules word_piece = {.files = ClassFiles::kWordPiece,
                                     .file = "vocab.txt",
                                     .tokens = bert_tokens(),
                                     .row_template = RowTemplate::kClsSep};
  for (const TokenizerClass value :
       {kBert, kDistilBert, kElectra, kMobileBert, kConvBert, kSqueezeBert, kLayoutLM}) {
    rules.push_back(word_piece);
    rules.back().value = value;
  }
  rules.push_back(word_piece);
  rules.back().value = kMpnet;
  rules.back().tokens = fairseq_tokens(kRaw, kRawMask);
  rules.back().tokens[2].content = "[UNK]";
  rules.push_back({.value = kEsm,
                   .files = ClassFiles::kEsm,
                   .file = "vocab.txt",
                   .tokens = {{"eos_token", "<eos>"},
                              {"unk_token", "<unk>"},
                              {"pad_token", "<pad>"},
                              {"cls_token", "<cls>"},
                              {"mask_token", "<mask>"}}});
  const SlowClassRules roberta = {.value = kRoberta,
                                  .files = ClassFiles::kByteLevelBpe,
                                  .file = "vocab.json",
                                  .tokens = fairseq_tokens(kNormalized, kRawMask),
                                  .row_template = RowTemplate::kRoberta};
  rules.push_back(roberta);
  rules.push_back(roberta);
  rules.back().value = kLongformer;
  rules.push_back(roberta);
  rules.back().value = kBart;
  rules.push_back(roberta);
  rules.back().value = kDeberta;
  rules.back().tokens = with_form(with_form(cls_sep_tokens("[UNK]", "[PAD]", kString), "", kRaw),
                                  "mask_token", kNormalizedMask);
  rules.back().row_template = RowTemplate::kFixed;
  rules.back().prefix = "[CLS]";
  rules.back().suffix = "[SEP]";
  SlowClassRules gpt2 = roberta;
  gpt2.value = kGpt2;
  gpt2.tokens = gpt2_tokens(kNormalized, "<|endoftext|>", "");
  gpt2.row_template = RowTemplate::kBosOnly;
  rules.push_back(gpt2);
  gpt2.value = kCodeGen;
  gpt2.tokens = gpt2_tokens(kRaw, "<|endoftext|>", "");
  gpt2.row_template = RowTemplate::kByteLevel;
  rules.push_back(gpt2);
  gpt2.value = kQwen2;
  gpt2.tokens = gpt2_tokens(kRaw, "", "<|endoftext|>");
  rules.push_back(gpt2);
  return rules;
}

const std::vector<SlowClassRules>& table() {
  static const std::vector<SlowClassRules> rules = [] {
    std::vector<SlowClassRules> all;
    for (const auto& part :
         {fairseq_rules(), unigram_rules(), byte_fallback_rules(), vocabulary_rules()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rules;
}

}  // namespace

const SlowClassRules* find_slow_class_rules(TokenizerClass value) {
  const auto found = std::ranges::find(table(), value, &SlowClassRules::value);
  return found == table().end() ? nullptr : &*found;
}

std::string slow_class_names() {
  std::string names;
  for (const TokenizerClassRow& row : tokenizer_classes()) {
    if (find_slow_class_rules(row.value) == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

std::span<const std::string_view> languages_of(TailPieces tail) {
  static const std::vector<std::string_view> languages = {
      "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
      "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
      "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
      "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
      "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
      "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
  constexpr size_t kOfMBart = 25;  // MBart50 has all
  if (tail == TailPieces::kLanguages) return std::span(languages).first(kOfMBart);
  if (tail == TailPieces::kMoreLanguages) return languages;
  return {};
}

}  // namespace encode
