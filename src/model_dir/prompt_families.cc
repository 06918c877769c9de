#include "model_dir/prompt_families.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "model_dir/hub_cache.h"

namespace encode {
namespace {

constexpr std::string_view kPassages = "Represent this sentence for searching relevant passages: ";
constexpr std::string_view kWebSearch =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

constexpr auto kE5 = std::to_array<std::string_view>(
    {"intfloat/e5-small", "intfloat/e5-base", "intfloat/e5-large", "intfloat/e5-small-v2",
     "intfloat/e5-base-v2", "intfloat/e5-large-v2", "intfloat/multilingual-e5-small",
     "intfloat/multilingual-e5-base", "intfloat/multilingual-e5-large"});
constexpr auto kE5Instruct = std::to_array<std::string_view>(
    {"intfloat/multilingual-e5-large-instruct", "intfloat/e5-mistral-7b-instruct"});
constexpr auto kNomic = std::to_array<std::string_view>(
    {"nomic-ai/nomic-embed-text-v1", "nomic-ai/nomic-embed-text-v1-unsupervised",
     "nomic-ai/nomic-embed-text-v1.5", "nomic-ai/modernbert-embed-base",
     "nomic-ai/nomic-embed-text-v2-moe"});
constexpr auto kNomicCode =
    std::to_array<std::string_view>({"nomic-ai/nomic-embed-code", "nomic-ai/CodeRankEmbed"});
constexpr auto kBge = std::to_array<std::string_view>(
    {"BAAI/bge-small-en", "BAAI/bge-base-en", "BAAI/bge-large-en", "BAAI/bge-small-en-v1.5",
     "BAAI/bge-base-en-v1.5", "BAAI/bge-large-en-v1.5"});
constexpr auto kBgeChinese = std::to_array<std::string_view>(
    {"BAAI/bge-small-zh", "BAAI/bge-base-zh", "BAAI/bge-large-zh", "BAAI/bge-small-zh-v1.5",
     "BAAI/bge-base-zh-v1.5", "BAAI/bge-large-zh-v1.5"});
constexpr auto kBgeGemma = std::to_array<std::string_view>({"BAAI/bge-multilingual-gemma2"});
constexpr auto kArctic = std::to_array<std::string_view>(
    {"Snowflake/snowflake-arctic-embed-xs", "Snowflake/snowflake-arctic-embed-s",
     "Snowflake/snowflake-arctic-embed-m", "Snowflake/snowflake-arctic-embed-m-long",
     "Snowflake/snowflake-arctic-embed-l", "Snowflake/snowflake-arctic-embed-m-v1.5"});
constexpr auto kArctic2 = std::to_array<std::string_view>(
    {"Snowflake/snowflake-arctic-embed-m-v2.0", "Snowflake/snowflake-arctic-embed-l-v2.0"});
constexpr auto kMxbai = std::to_array<std::string_view>({"mixedbread-ai/mxbai-embed-large-v1"});
constexpr auto kUae = std::to_array<std::string_view>({"WhereIsAI/UAE-Large-V1"});
constexpr auto kGteQwen = std::to_array<std::string_view>(
    {"Alibaba-NLP/gte-Qwen2-1.5B-instruct", "Alibaba-NLP/gte-Qwen2-7B-instruct"});
constexpr auto kMistral = std::to_array<std::string_view>({"Salesforce/SFR-Embedding-Mistral",
                                                           "Salesforce/SFR-Embedding-2_R",
                                                           "Linq-AI-Research/Linq-Embed-Mistral"});
constexpr auto kNvEmbed =
    std::to_array<std::string_view>({"nvidia/NV-Embed-v1", "nvidia/NV-Embed-v2"});
constexpr auto kNemotron = std::to_array<std::string_view>({"nvidia/llama-embed-nemotron-8b"});
constexpr auto kQwen3 = std::to_array<std::string_view>(
    {"Qwen/Qwen3-Embedding-0.6B", "Qwen/Qwen3-Embedding-4B", "Qwen/Qwen3-Embedding-8B"});
constexpr auto kEmbeddingGemma = std::to_array<std::string_view>({"google/embeddinggemma-300m"});
constexpr auto kInstructor = std::to_array<std::string_view>(
    {"hkunlp/instructor-base", "hkunlp/instructor-large", "hkunlp/instructor-xl"});
constexpr auto kStella =
    std::to_array<std::string_view>({"NovaSearch/stella_en_400M_v5", "NovaSearch/stella_en_1.5B_v5",
                                     "dunzhang/stella_en_400M_v5", "dunzhang/stella_en_1.5B_v5"});
constexpr auto kJina3 =
    std::to_array<std::string_view>({"jinaai/jina-embeddings-v3", "jinaai/jina-embeddings-v3-hf"});
constexpr auto kGrit = std::to_array<std::string_view>({"GritLM/GritLM-7B"});

constexpr auto kFamilies = std::to_array<PromptFamily>({
    {"E5", kE5, "query: ", "passage: ", "",
     "model card of intfloat/e5-base-v2, FAQ 1; Wang et al. 2022 (arXiv:2212.03533)"},
    {"E5 with instructions", kE5Instruct, kWebSearch, "", "",
     "model card of intfloat/e5-mistral-7b-instruct; Wang et al. 2023 (arXiv:2401.00368)"},
    {"Nomic", kNomic, "search_query: ", "search_document: ", "clustering: , classification: ",
     "model card of nomic-ai/nomic-embed-text-v1.5, Task instruction prefixes"},
    {"Nomic code", kNomicCode, "Represent this query for searching relevant code: ", "", "",
     "model card of nomic-ai/nomic-embed-code"},
    {"BGE, English", kBge, kPassages, "", "",
     "model card of BAAI/bge-base-en-v1.5, Model List; Xiao et al. 2023 (arXiv:2309.07597)"},
    {"BGE, Chinese", kBgeChinese, "为这个句子生成表示以用于检索相关文章：", "", "",
     "model card of BAAI/bge-base-zh-v1.5, Model List"},
    {"BGE on Gemma 2", kBgeGemma,
     "<instruct>Given a web search query, retrieve relevant passages that answer the "
     "query.\n<query>",
     "", "", "model card of BAAI/bge-multilingual-gemma2"},
    {"Arctic Embed", kArctic, kPassages, "", "",
     "model card of Snowflake/snowflake-arctic-embed-m; Merrick et al. 2024 (arXiv:2405.05374)"},
    {"Arctic Embed 2.0", kArctic2, "query: ", "", "",
     "model card of Snowflake/snowflake-arctic-embed-l-v2.0; Yu et al. 2024 (arXiv:2412.04506)"},
    {"mxbai", kMxbai, kPassages, "", "", "model card of mixedbread-ai/mxbai-embed-large-v1"},
    {"UAE", kUae, kPassages, "", "", "model card of WhereIsAI/UAE-Large-V1, Usage"},
    {"gte-Qwen2", kGteQwen, kWebSearch, "", "",
     "model card of Alibaba-NLP/gte-Qwen2-1.5B-instruct; its config_sentence_transformers.json"},
    {"SFR and Linq on Mistral", kMistral, kWebSearch, "", "",
     "model cards of Salesforce/SFR-Embedding-Mistral and Linq-AI-Research/Linq-Embed-Mistral"},
    {"NV-Embed", kNvEmbed, kWebSearch, "", "",
     "model card of nvidia/NV-Embed-v2; Lee et al. 2024 (arXiv:2405.17428)"},
    {"Nemotron Embed", kNemotron, kWebSearch, "", "",
     "model card of nvidia/llama-embed-nemotron-8b"},
    {"Qwen3 Embedding", kQwen3,
     "Instruct: Given a web search query, retrieve relevant passages that answer the "
     "query\nQuery:",
     "", "", "model card of Qwen/Qwen3-Embedding-0.6B; Zhang et al. 2025 (arXiv:2506.05176)"},
    {"EmbeddingGemma", kEmbeddingGemma, "task: search result | query: ", "title: none | text: ",
     "task: clustering | query: , task: classification | query: , task: sentence similarity | "
     "query: ",
     "model card of google/embeddinggemma-300m, Prompt Instructions; its "
     "config_sentence_transformers.json"},
    {"INSTRUCTOR", kInstructor,
     "Represent the Wikipedia question for retrieving supporting documents: ",
     "Represent the Wikipedia document for retrieval: ", "",
     "model card of hkunlp/instructor-large; Su et al. 2022 (arXiv:2212.09741)"},
    {"Stella", kStella,
     "Instruct: Given a web search query, retrieve relevant passages that answer the "
     "query.\nQuery: ",
     "", "Instruct: Retrieve semantically similar text.\nQuery: ",
     "model card of NovaSearch/stella_en_1.5B_v5; its config_sentence_transformers.json"},
    {"Jina 3", kJina3, "Represent the query for retrieving evidence documents: ",
     "Represent the document for retrieval: ", "",
     "model card of jinaai/jina-embeddings-v3; Sturua et al. 2024 (arXiv:2409.10173)"},
    {"GritLM", kGrit,
     "<|user|>\nGiven a web search query, retrieve relevant passages that answer the "
     "query\n<|embed|>\n",
     "<|embed|>\n", "",
     "model card of GritLM/GritLM-7B; Muennighoff et al. 2024 (arXiv:2402.09906)"},
});

// Returns the hub id of a snapshot in the Hugging Face cache, or "".
std::string hub_id(const std::filesystem::path& path) {
  static constexpr std::string_view kModels = "models--";
  if (path.parent_path().filename() != "snapshots") return "";
  std::string id = path.parent_path().parent_path().filename().string();
  if (!id.starts_with(kModels)) return "";
  id.erase(0, kModels.size());
  const size_t between = id.find("--");
  if (between != std::string::npos) id.replace(between, 2, "/");
  return id;
}

std::string name_or_path(const ModelDirectory& directory) {
  const Json config = Json::parse(directory.config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return "";
  const auto name = config.find("_name_or_path");
  return name != config.end() && name->is_string() ? name->get<std::string>() : "";
}

// Returns true if `name`, the name or the path of a directory, ends in the name of the repository.
// The organisation may be missing, because downloads are often kept without it.
bool names_repository(std::string name, std::string_view repository) {
  while (name.ends_with('/')) name.pop_back();
  const std::string id = lower_case(std::string(repository));
  const size_t slash = id.find('/');
  const std::string organisation = id.substr(0, slash);
  const std::string model = id.substr(slash + 1);
  const std::vector<std::string> parts = split_path(lower_case(name));
  const std::string& last = parts.back();
  if (parts.size() == 2 && !parts[0].empty() && parts[0] != ".") return lower_case(name) == id;
  return last == model || last == organisation + "--" + model || last == organisation + "_" + model;
}

std::string quoted(std::string_view prompt) { return fmt::format("'{}'", one_line(prompt)); }

}  // namespace

std::span<const PromptFamily> prompt_families() { return kFamilies; }

std::string one_line(std::string_view prompt) {
  std::string line;
  for (const char c : prompt) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

std::optional<KnownPrompts> find_prompt_family(const ModelDirectory& directory) {
  const std::filesystem::path path = directory.path;
  const std::string id = hub_id(path);
  const std::array<std::pair<std::string, std::string>, 2> names = {
      {{id.empty() ? path.filename().string() : id,
        id.empty() ? "the name of the directory" : "the Hugging Face cache"},
       {name_or_path(directory), "_name_or_path of config.json"}}};
  for (const auto& [name, place] : names) {
    if (name.empty()) continue;
    for (const PromptFamily& family : kFamilies) {
      const auto names_it = [&repository = name](std::string_view known) {
        return names_repository(repository, known);
      };
      const auto found = std::ranges::find_if(family.repositories, names_it);
      if (found != family.repositories.end())
        return KnownPrompts{.family = &family, .repository = *found, .place = place};
    }
  }
  return std::nullopt;
}

std::string describe_prompt(const ModelDirectory& directory, const ResultOptions& options) {
  const std::string prompt = effective_result(directory, options).prompt;
  std::string chosen = "the model directory has no default";
  if (options.prompt) {
    chosen = "prompt of the options";
  } else if (options.prompt_name) {
    chosen = fmt::format("prompt_name '{}' of the options", preview(*options.prompt_name));
  } else if (directory.default_prompt_name) {
    chosen = fmt::format("default_prompt_name '{}' of the model directory",
                         preview(*directory.default_prompt_name));
  }
  return prompt.empty()
             ? fmt::format("no row gets a prompt ({})", chosen)
             : fmt::format("every row gets the prompt '{}' ({})", preview(prompt, 200), chosen);
}

std::optional<std::string> prompt_advice(const ModelDirectory& directory,
                                         const ResultOptions& options) {
  if (options.prompt || options.prompt_name || directory.default_prompt_name) return std::nullopt;
  const std::optional<KnownPrompts> known = find_prompt_family(directory);
  if (!known) return std::nullopt;
  const PromptFamily& family = *known->family;
  const std::string document = family.document.empty()
                                   ? "no prompt before texts that are searched"
                                   : quoted(family.document) + " before texts that are searched";
  return fmt::format(
      "no row gets a prompt, but {} ({}) was trained with {} before queries and {}: set "
      "semantic.prompt (--prompt) to the one that fits the rows, or to '' for none "
      "(docs/howto/prompts.md)",
      known->repository, known->place, quoted(family.query), document);
}

}  // namespace encode
