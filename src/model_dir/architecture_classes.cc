#include "model_dir/architecture_classes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace encode {
namespace {

// The name of a class without "Model", "ForMaskedLM" and the like, and the model_type, as in
// transformers' MODEL_MAPPING_NAMES. The last lines are classes of code beside published models.
constexpr auto kClasses = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Albert", "albert"},
    {"Bert", "bert"},
    {"BigBird", "big_bird"},
    {"Bloom", "bloom"},
    {"Camembert", "camembert"},
    {"DebertaV2", "deberta-v2"},
    {"DistilBert", "distilbert"},
    {"Electra", "electra"},
    {"Ernie", "ernie"},
    {"Esm", "esm"},
    {"EuroBert", "eurobert"},
    {"GPT2", "gpt2"},
    {"GPTJ", "gptj"},
    {"GPTNeo", "gpt_neo"},
    {"GPTNeoX", "gpt_neox"},
    {"Gemma", "gemma"},
    {"Gemma2", "gemma2"},
    {"Gemma3Text", "gemma3_text"},
    {"Lfm2", "lfm2"},
    {"Llama", "llama"},
    {"Longformer", "longformer"},
    {"MPNet", "mpnet"},
    {"MT5", "mt5"},
    {"Ministral", "ministral"},
    {"Ministral3", "ministral3"},
    {"Mistral", "mistral"},
    {"MobileBert", "mobilebert"},
    {"ModernBert", "modernbert"},
    {"Olmo", "olmo"},
    {"Olmo2", "olmo2"},
    {"Phi", "phi"},
    {"Qwen2", "qwen2"},
    {"Qwen3", "qwen3"},
    {"Qwen3Moe", "qwen3_moe"},
    {"RemBert", "rembert"},
    {"Roberta", "roberta"},
    {"T5", "t5"},
    {"UMT5", "umt5"},
    {"XLM", "xlm"},
    {"XLMRoberta", "xlm-roberta"},
    {"XLMRobertaXL", "xlm-roberta-xl"},
    {"JinaEmbeddingsV3", "jina_embeddings_v3"},
    {"LlamaBidirectional", "llama_bidirec"},
    {"NVEmbed", "nvembed"},
    {"New", "new"},
    {"NomicBert", "nomic_bert"},
});

// Returns true for what follows the name of an architecture in the name of a class.
bool is_class_ending(std::string_view text) {
  return text == "Model" || text == "EncoderModel" || text == "LMHeadModel" ||
         text.starts_with("For");
}

}  // namespace

std::string_view model_type_of_class(std::string_view class_name) {
  // The language model of Gemma 3; Gemma3Model is the one with images.
  if (class_name == "Gemma3ForCausalLM") return "gemma3_text";
  const auto* const found = std::find_if(kClasses.begin(), kClasses.end(), [&](const auto& entry) {
    return class_name.starts_with(entry.first) &&
           is_class_ending(class_name.substr(entry.first.size()));
  });
  return found != kClasses.end() ? found->second : std::string_view();
}

}  // namespace encode
