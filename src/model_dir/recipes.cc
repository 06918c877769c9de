#include "model_dir/recipes.h"

#include <algorithm>
#include <array>

#include "model_dir/supported_architectures.h"

namespace encode {
namespace {

using enum CodeRole;

constexpr std::string_view kFromGteQwen = "Alibaba-NLP/gte-Qwen2-1.5B-instruct";
constexpr std::string_view kFromNomic = "nomic-ai/nomic-bert-2048";
constexpr std::string_view kFromNew = "Alibaba-NLP/new-impl";
constexpr std::string_view kFromGte = "Snowflake/snowflake-arctic-embed-m-v2.0";
constexpr std::string_view kFromJina = "jinaai/jina-bert-implementation";
constexpr std::string_view kFromEuroBert = "EuroBERT/EuroBERT-210m";
constexpr std::string_view kFromNemotron = "nvidia/llama-nemotron-embed-1b-v2";
constexpr std::string_view kFromCodeSage = "codesage/codesage-small";
constexpr std::string_view kFromNvEmbed = "nvidia/NV-Embed-v2";
constexpr std::string_view kFromGritLm = "GritLM/GritLM-7B";

// Makes a row for code that does the same as the architecture of this model_type.
constexpr CodeRecipe native(CodeRole role, std::string_view file, std::string_view class_name,
                            std::string_view model_type) {
  return {.role = role,
          .file = file,
          .class_name = class_name,
          .model_type = model_type,
          .name = model_type};
}

constexpr CodeRecipe from(std::string_view source, CodeRecipe recipe) {
  recipe.source = source;
  return recipe;
}

constexpr CodeRecipe appends_eos(std::string_view class_name) {
  return {.role = kTokenizer,
          .file = "tokenization_qwen",
          .class_name = class_name,
          .name = "qwen2_eos",
          .tokenizer = TokenizerRecipe::kAppendEos,
          .source = kFromGteQwen};
}

constexpr auto kRecipes = std::to_array<CodeRecipe>({
    {.role = kModel,
     .file = "modeling_qwen",
     .class_name = "Qwen2Model",
     .model_type = "qwen2",
     .name = "qwen2_bidirectional",
     .bidirectional = true,
     .source = kFromGteQwen},
    appends_eos("Qwen2Tokenizer"),
    appends_eos("Qwen2TokenizerFast"),
    from(kFromNomic,
         native(kConfig, "configuration_hf_nomic_bert", "NomicBertConfig", "nomic_bert")),
    from(kFromNomic, native(kModel, "modeling_hf_nomic_bert", "NomicBertModel", "nomic_bert")),
    from(kFromNew, native(kConfig, "configuration", "NewConfig", "new")),
    from(kFromNew, native(kModel, "modeling", "NewModel", "new")),
    from(kFromGte, native(kConfig, "configuration_hf_alibaba_nlp_gte", "GteConfig", "gte")),
    from(kFromGte, native(kModel, "modeling_hf_alibaba_nlp_gte", "GteModel", "gte")),
    from(kFromJina, native(kConfig, "configuration_bert", "JinaBertConfig", "bert")),
    from(kFromJina, native(kModel, "modeling_bert", "JinaBertModel", "bert")),
    from(kFromEuroBert, native(kConfig, "configuration_eurobert", "EuroBertConfig", "eurobert")),
    from(kFromEuroBert, native(kModel, "modeling_eurobert", "EuroBertModel", "eurobert")),
    from(kFromNemotron,
         native(kConfig, "llama_bidirectional_model", "LlamaBidirectionalConfig", "llama_bidirec")),
    from(kFromNemotron,
         native(kModel, "llama_bidirectional_model", "LlamaBidirectionalModel", "llama_bidirec")),
    from(kFromCodeSage, native(kConfig, "config_codesage", "CodeSageConfig", "codesage")),
    from(kFromCodeSage, native(kModel, "modeling_codesage", "CodeSageModel", "codesage")),
    from(kFromNvEmbed, native(kConfig, "configuration_nvembed", "NVEmbedConfig", "nvembed")),
    from(kFromNvEmbed, native(kModel, "modeling_nvembed", "NVEmbedModel", "nvembed")),
    // The caller of this code chooses the direction of the attention, and only causal attention has
    // a window. The recipe does what encode() of the authors' package gritlm does.
    {.role = kModel,
     .file = "modeling_gritlm7b",
     .class_name = "MistralModel",
     .model_type = "mistral",
     .name = "gritlm",
     .bidirectional = true,
     .pools_after_prompt = true,
     .unused_key = "sliding_window",
     .source = kFromGritLm},
});

static_assert(std::ranges::none_of(kRecipes, &std::string_view::empty, &CodeRecipe::source));

}  // namespace

const CodeRecipe* find_code_recipe(CodeRole role, std::string_view reference,
                                   std::string_view model_type) {
  constexpr std::string_view kRepositoryEnd = "--";
  if (const size_t end = reference.find(kRepositoryEnd); end != std::string_view::npos)
    reference.remove_prefix(end + kRepositoryEnd.size());
  const size_t dot = reference.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view file = reference.substr(0, dot);
  const std::string_view class_name = reference.substr(dot + 1);
  const auto* const found =
      std::find_if(kRecipes.begin(), kRecipes.end(), [&](const CodeRecipe& recipe) {
        const bool fits =
            recipe.role == role && recipe.file == file && recipe.class_name == class_name;
        if (!fits || recipe.model_type.empty()) return fits;
        return recipe.model_type == model_type && find_architecture(model_type) != nullptr;
      });
  return found != kRecipes.end() ? found : nullptr;
}

}  // namespace encode
