#include "tokenizer/load/tokenizer_class.h"

#include <algorithm>
#include <fmt/format.h>

namespace encode {
namespace {

const std::vector<TokenizerClassRow>& table() {
  using enum TokenizerClass;
  static const std::vector<TokenizerClassRow> rows = {
      {kAlbert, "AlbertTokenizer", {"albert", "nystromformer", "yoso"}},
      {kBart, "BartTokenizer", {"bart"}},
      {kBert, "BertTokenizer", {"bert", "ernie", "megatron-bert", "qdqbert", "nezha"}},
      {kBigBird, "BigBirdTokenizer", {"big_bird"}},
      {kBloom, "BloomTokenizer", {"bloom"}},
      {kCamembert, "CamembertTokenizer", {"camembert"}},
      {kCodeGen, "CodeGenTokenizer", {"codegen", "phi"}},
      {kCodeLlama, "CodeLlamaTokenizer", {"code_llama"}},
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
       {"llama", "mistral", "mistral3", "ministral", "mixtral", "phi3", "deepseek_v3", "arcee"}},
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
      {kPreTrained, "TokenizersBackend", {}},
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

TokenizerClass class_named(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const auto row = std::ranges::find(table(), name, &TokenizerClassRow::name);
  return row == table().end() ? TokenizerClass::kUnknown : row->value;
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
