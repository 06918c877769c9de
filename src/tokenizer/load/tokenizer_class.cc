#include "tokenizer/load/tokenizer_class.h"

#include <algorithm>
#include <fmt/format.h>

namespace encode {
namespace {

struct ClassOfTypes {
  TokenizerClass value;
  std::string_view name;
  std::string_view model_types;  // separated by spaces
};

constexpr ClassOfTypes kClasses[] = {
    {TokenizerClass::kAlbert, "AlbertTokenizer", "albert nystromformer yoso"},
    {TokenizerClass::kBart, "BartTokenizer", "bart"},
    {TokenizerClass::kBert, "BertTokenizer",
     "bert ernie megatron-bert qdqbert nezha align bark blip bros chinese_clip git grounding-dino "
     "mm-grounding-dino tvp vilt visual_bert"},
    {TokenizerClass::kBigBird, "BigBirdTokenizer", "big_bird"},
    {TokenizerClass::kBloom, "BloomTokenizer", "bloom"},
    {TokenizerClass::kCamembert, "CamembertTokenizer", "camembert"},
    {TokenizerClass::kClip, "CLIPTokenizer",
     "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit xclip"},
    {TokenizerClass::kCodeGen, "CodeGenTokenizer", "codegen phi"},
    {TokenizerClass::kCodeLlama, "CodeLlamaTokenizer", "code_llama"},
    {TokenizerClass::kCohere, "CohereTokenizer", "cohere cohere2 aya_vision"},
    {TokenizerClass::kConvBert, "ConvBertTokenizer", "convbert"},
    {TokenizerClass::kDeberta, "DebertaTokenizer", "deberta"},
    {TokenizerClass::kDebertaV2, "DebertaV2Tokenizer", "deberta-v2"},
    {TokenizerClass::kDistilBert, "DistilBertTokenizer", "distilbert"},
    {TokenizerClass::kBert, "DPRContextEncoderTokenizer", ""},
    {TokenizerClass::kBert, "DPRQuestionEncoderTokenizer", "dpr"},
    {TokenizerClass::kElectra, "ElectraTokenizer", "electra"},
    {TokenizerClass::kEsm, "EsmTokenizer", "esm"},
    {TokenizerClass::kFunnel, "FunnelTokenizer", "funnel"},
    {TokenizerClass::kGemma, "GemmaTokenizer",
     "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text t5gemma recurrent_gemma shieldgemma2 "
     "siglip2"},
    {TokenizerClass::kGpt2, "GPT2Tokenizer",
     "gpt2 gpt_neo gptj opt gpt_bigcode starcoder2 granite blip-2 dbrx emu3 exaone4 flex_olmo "
     "granitemoe granitemoehybrid granitemoeshared instructblip instructblipvideo minimax olmo3"},
    {TokenizerClass::kGptNeoX, "GPTNeoXTokenizer",
     "gpt_neox olmo olmo2 olmoe stablelm mamba mamba2 mpt falcon_mamba rwkv xlstm"},
    {TokenizerClass::kHerbert, "HerbertTokenizer", ""},
    {TokenizerClass::kLayoutLM, "LayoutLMTokenizer", "layoutlm"},
    {TokenizerClass::kBart, "LEDTokenizer", "led"},
    {TokenizerClass::kLlama, "LlamaTokenizer",
     "llama mistral mistral3 ministral mixtral phi3 deepseek_v3 arcee aria chameleon colpali "
     "deepseek_v2 deepseek_vl deepseek_vl_hybrid diffllama ernie4_5 ernie4_5_moe idefics idefics2 "
     "idefics3 jamba janus jetmoe llama4 llama4_text llava llava_next llava_next_video "
     "llava_onevision mllama paligemma persimmon phimoe video_llava vipllava zamba zamba2"},
    {TokenizerClass::kLongformer, "LongformerTokenizer", "longformer"},
    {TokenizerClass::kBert, "LxmertTokenizer", "lxmert"},
    {TokenizerClass::kMBart50, "MBart50Tokenizer", ""},
    {TokenizerClass::kMBart, "MBartTokenizer", "mbart"},
    {TokenizerClass::kMobileBert, "MobileBertTokenizer", "mobilebert"},
    {TokenizerClass::kMpnet, "MPNetTokenizer", "mpnet"},
    {TokenizerClass::kMt5, "MT5Tokenizer", "mt5"},
    {TokenizerClass::kNllb, "NllbTokenizer", "nllb-moe"},
    {TokenizerClass::kPreTrained, "PreTrainedTokenizer",
     "modernbert nemotron helium smollm3 bitnet glm glm4 blt csm falcon glm4_moe glm4v glm4v_moe "
     "gpt_oss kosmos-2.5 moonshine moshi pixtral voxtral"},
    {TokenizerClass::kQwen2, "Qwen2Tokenizer",
     "qwen2 qwen2_moe qwen3 qwen3_moe colqwen2 internvl qwen2_5_omni qwen2_5_vl qwen2_audio "
     "qwen2_vl qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe"},
    {TokenizerClass::kRemBert, "RemBertTokenizer", "rembert"},
    {TokenizerClass::kRoberta, "RobertaTokenizer",
     "roberta roberta-prelayernorm data2vec-text ibert mega mra bridgetower clap"},
    {TokenizerClass::kSqueezeBert, "SqueezeBertTokenizer", "squeezebert"},
    {TokenizerClass::kT5, "T5Tokenizer",
     "t5 umt5 switch_transformers longt5 musicgen musicgen_melody pix2struct"},
    {TokenizerClass::kBackend, "TokenizersBackend", ""},
    {TokenizerClass::kXlmRoberta, "XLMRobertaTokenizer",
     "xlm-roberta xlm-roberta-xl xmod kosmos-2 metaclip_2"},
    {TokenizerClass::kXlm, "XLMTokenizer", "xlm"},
    {TokenizerClass::kXlnet, "XLNetTokenizer", "xlnet"},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
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
constexpr std::string_view kNotBuiltNames[] = {"BarthezTokenizer",     "BlenderbotSmallTokenizer",
                                               "BlenderbotTokenizer",  "CpmTokenizer",
                                               "DPRReaderTokenizer",   "FNetTokenizer",
                                               "LayoutLMv2Tokenizer",  "LayoutLMv3Tokenizer",
                                               "LayoutXLMTokenizer",   "MarkupLMTokenizer",
                                               "MvpTokenizer",         "NougatTokenizer",
                                               "OpenAIGPTTokenizer",   "PegasusTokenizer",
                                               "RealmTokenizer",       "ReformerTokenizer",
                                               "RetriBertTokenizer",   "RoFormerTokenizer",
                                               "SeamlessM4TTokenizer", "SplinterTokenizer",
                                               "UdopTokenizer",        "WhisperTokenizer",
                                               "XGLMTokenizer"};

TokenizerClass class_named(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const auto row = std::ranges::find(kClasses, name, &ClassOfTypes::name);
  if (row != std::end(kClasses)) return row->value;
  if (std::ranges::find(kSlowOnlyNames, name) != std::end(kSlowOnlyNames))
    return TokenizerClass::kSlowOnly;
  if (std::ranges::find(kNotBuiltNames, name) != std::end(kNotBuiltNames))
    return TokenizerClass::kNotBuilt;
  return TokenizerClass::kUnknown;
}

}  // namespace

std::span<const TokenizerClassRow> tokenizer_classes() {
  static const std::vector<TokenizerClassRow> rows = [] {
    std::vector<TokenizerClassRow> all;
    for (const ClassOfTypes& entry : kClasses)
      all.push_back({entry.value, entry.name, words_of(entry.model_types)});
    return all;
  }();
  return rows;
}

ChosenClass choose_tokenizer_class(const TokenizerSource& source, const std::string& stated) {
  if (!stated.empty())
    return {class_named(stated), stated, fmt::format("{}: tokenizer_class", kTokenizerConfigFile)};
  if (!source.tokenizer_class.empty()) {
    return {class_named(source.tokenizer_class), source.tokenizer_class,
            "config.json: tokenizer_class"};
  }
  for (const TokenizerClassRow& row : tokenizer_classes()) {
    if (std::ranges::find(row.model_types, source.model_type) != row.model_types.end())
      return {row.value, std::string(row.name), "config.json: model_type"};
  }
  return {};
}

}  // namespace encode
