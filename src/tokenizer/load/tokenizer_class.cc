#include "tokenizer/load/tokenizer_class.h"

#include <algorithm>
#include <fmt/format.h>

namespace encode {
namespace {

const std::vector<TokenizerClassRow>& table() {
  using enum TokenizerClass;
  static const std::vector<TokenizerClassRow> rows = {
      {kAlbert, "AlbertTokenizer", {"albert", "nystromformer", "yoso"}},
      {kBackend, "TokenizersBackend", {}},
      {kBart, "BartTokenizer", {"bart"}},
      {kBert, "BertTokenizer", {"bert", "ernie", "megatron-bert", "qdqbert", "nezha"}},
      {kBigBird, "BigBirdTokenizer", {"big_bird"}},
      {kBloom, "BloomTokenizer", {"bloom"}},
      {kCamembert, "CamembertTokenizer", {"camembert"}},
      {kCodeGen, "CodeGenTokenizer", {"codegen", "phi"}},
      {kCodeLlama, "CodeLlamaTokenizer", {}},
      {kCohere, "CohereTokenizer", {"cohere", "cohere2"}},
      {kConvBert, "ConvBertTokenizer", {"convbert"}},
      {kDeberta, "DebertaTokenizer", {"deberta"}},
      {kDebertaV2, "DebertaV2Tokenizer", {"deberta-v2"}},
      {kDistilBert, "DistilBertTokenizer", {"distilbert"}},
      {kElectra, "ElectraTokenizer", {"electra"}},
      {kEsm, "EsmTokenizer", {"esm"}},
      {kFunnel, "FunnelTokenizer", {"funnel"}},
      {kGemma,
       "GemmaTokenizer",
       {"gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "t5gemma"}},
      {kGpt2,
       "GPT2Tokenizer",
       {"gpt2", "gpt_neo", "gptj", "opt", "gpt_bigcode", "starcoder2", "granite"}},
      {kGptNeoX,
       "GPTNeoXTokenizer",
       {"gpt_neox", "olmo", "olmo2", "olmoe", "stablelm", "mamba", "mamba2", "mpt"}},
      {kLayoutLM, "LayoutLMTokenizer", {"layoutlm"}},
      {kLlama,
       "LlamaTokenizer",
       {"llama", "mistral", "mistral3", "ministral", "mixtral", "phi3", "deepseek_v3", "arcee",
        "code_llama"}},
      {kLongformer, "LongformerTokenizer", {"longformer"}},
      {kMBart, "MBartTokenizer", {"mbart"}},
      {kMBart50, "MBart50Tokenizer", {}},
      {kMobileBert, "MobileBertTokenizer", {"mobilebert"}},
      {kMpnet, "MPNetTokenizer", {"mpnet"}},
      {kMt5, "MT5Tokenizer", {"mt5"}},
      {kNllb, "NllbTokenizer", {"nllb", "nllb-moe"}},
      {kPreTrained,
       "PreTrainedTokenizer",
       {"modernbert", "nemotron", "helium", "smollm3", "bitnet", "glm", "glm4"}},
      {kQwen2, "Qwen2Tokenizer", {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}},
      {kRemBert, "RemBertTokenizer", {"rembert"}},
      {kRoberta,
       "RobertaTokenizer",
       {"roberta", "roberta-prelayernorm", "data2vec-text", "ibert", "mega", "mra"}},
      {kSqueezeBert, "SqueezeBertTokenizer", {"squeezebert"}},
      {kT5, "T5Tokenizer", {"t5", "umt5", "switch_transformers"}},
      {kXlm, "XLMTokenizer", {"xlm"}},
      {kXlmRoberta, "XLMRobertaTokenizer", {"xlm-roberta", "xlm-roberta-xl", "xmod"}}};
  return rows;
}

// Classes of transformers 4.57.6 that have no fast version, and fast ones with rules of their own.
constexpr std::string_view kSlowOnlyNames[] = {"BartphoTokenizer",
                                               "BertGenerationTokenizer",
                                               "BertJapaneseTokenizer",
                                               "BertweetTokenizer",
                                               "BioGptTokenizer",
                                               "ByT5Tokenizer",
                                               "CTRLTokenizer",
                                               "CanineTokenizer",
                                               "CpmAntTokenizer",
                                               "ErnieMTokenizer",
                                               "FSMTTokenizer",
                                               "FlaubertTokenizer",
                                               "GPTNeoXJapaneseTokenizer",
                                               "GPTSanJapaneseTokenizer",
                                               "GPTSw3Tokenizer",
                                               "LukeTokenizer",
                                               "M2M100Tokenizer",
                                               "MLukeTokenizer",
                                               "MarianTokenizer",
                                               "MyT5Tokenizer",
                                               "PLBartTokenizer",
                                               "PerceiverTokenizer",
                                               "PhobertTokenizer",
                                               "ProphetNetTokenizer",
                                               "RoCBertTokenizer",
                                               "SiglipTokenizer",
                                               "TapasTokenizer",
                                               "TapexTokenizer",
                                               "TransfoXLTokenizer",
                                               "XLMProphetNetTokenizer"};
constexpr std::string_view kNotBuiltNames[] = {"BarthezTokenizer",
                                               "BlenderbotSmallTokenizer",
                                               "BlenderbotTokenizer",
                                               "CLIPTokenizer",
                                               "CpmTokenizer",
                                               "DPRContextEncoderTokenizer",
                                               "DPRQuestionEncoderTokenizer",
                                               "DPRReaderTokenizer",
                                               "FNetTokenizer",
                                               "HerbertTokenizer",
                                               "LEDTokenizer",
                                               "LayoutLMv2Tokenizer",
                                               "LayoutLMv3Tokenizer",
                                               "LayoutXLMTokenizer",
                                               "LxmertTokenizer",
                                               "MarkupLMTokenizer",
                                               "MvpTokenizer",
                                               "NougatTokenizer",
                                               "OpenAIGPTTokenizer",
                                               "PegasusTokenizer",
                                               "RealmTokenizer",
                                               "ReformerTokenizer",
                                               "RetriBertTokenizer",
                                               "RoFormerTokenizer",
                                               "SeamlessM4TTokenizer",
                                               "SplinterTokenizer",
                                               "UdopTokenizer",
                                               "WhisperTokenizer",
                                               "XGLMTokenizer",
                                               "XLNetTokenizer"};

TokenizerClass class_named(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const auto row = std::ranges::find(table(), name, &TokenizerClassRow::name);
  if (row != table().end()) return row->value;
  if (std::ranges::find(kSlowOnlyNames, name) != std::end(kSlowOnlyNames))
    return TokenizerClass::kSlowOnly;
  if (std::ranges::find(kNotBuiltNames, name) != std::end(kNotBuiltNames))
    return TokenizerClass::kNotBuilt;
  return TokenizerClass::kUnknown;
}

}  // namespace

std::span<const TokenizerClassRow> tokenizer_classes() { return table(); }

ChosenClass choose_tokenizer_class(const TokenizerSource& source, const std::string& stated) {
  if (!stated.empty())
    return {class_named(stated), stated, fmt::format("{}: tokenizer_class", kTokenizerConfigFile)};
  if (!source.tokenizer_class.empty()) {
    return {class_named(source.tokenizer_class), source.tokenizer_class,
            "config.json: tokenizer_class"};
  }
  for (const TokenizerClassRow& row : table()) {
    if (std::ranges::find(row.model_types, source.model_type) != row.model_types.end())
      return {row.value, std::string(row.name), "config.json: model_type"};
  }
  return {};
}

}  // namespace encode
