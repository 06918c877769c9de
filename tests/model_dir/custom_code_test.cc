// Tests which Python code of a model directory encode knows, and what happens to the other code.
#include "model_dir/custom_code.h"

#include <fmt/format.h>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_dir/needed_files.h"
#include "model_dir/recipes.h"
#include "model_dir/supported_architectures.h"
#include "tiny_model.h"

namespace encode {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TinyModel;

constexpr CustomCodePolicy kIgnore = CustomCodePolicy::kIgnore;

// Returns a config.json of this model_type with more fields.
std::string config_of(const std::string& model_type, const std::string& more) {
  return fmt::format(
      R"({{"model_type": "{}", "hidden_size": 4, "vocab_size": 10, "num_hidden_layers": 1, {}}})",
      model_type, more);
}

// Writes a config.json of this model_type that names the classes of AutoConfig ("" for none) and
// AutoModel.
void write_code(const TinyModel& model, const std::string& model_type, const std::string& config,
                const std::string& auto_model) {
  const std::string first = config.empty() ? "" : fmt::format(R"("AutoConfig": "{}", )", config);
  model.write("config.json",
              config_of(model_type,
                        fmt::format(R"("auto_map": {{{}"AutoModel": "{}"}})", first, auto_model)));
}

std::vector<std::string> recipes_of(const ModelDirectory& directory) {
  std::vector<std::string> names;
  for (const AppliedRecipe& recipe : directory.recipes) names.push_back(recipe.name);
  return names;
}

const char* const kGteTokenizer = R"({"model_max_length": 24, "add_eos_token": true,
    "tokenizer_class": "Qwen2Tokenizer", "auto_map": {"AutoTokenizer":
    ["tokenization_qwen.Qwen2Tokenizer", "tokenization_qwen.Qwen2TokenizerFast"]}})";

// --- Recipes

// The names of the code in a published repository.
struct Layout {
  const char* model_type;
  const char* config;
  const char* model;
  const char* recipe;
};
const std::vector<Layout> kLayouts = {
    {"qwen2", "", "modeling_qwen.Qwen2Model", "qwen2_bidirectional"},
    {"qwen2", "", "Alibaba-NLP/gte-Qwen2-7B-instruct--modeling_qwen.Qwen2Model",
     "qwen2_bidirectional"},
    {"nomic_bert", "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig",
     "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel", "nomic_bert"},
    {"new", "Alibaba-NLP/new-impl--configuration.NewConfig",
     "Alibaba-NLP/new-impl--modeling.NewModel", "new"},
    {"new", "configuration.NewConfig", "modeling.NewModel", "new"},
    {"bert", "jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
     "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel", "bert"},
    {"bert", "jinaai/jina-bert-v2-qk-post-norm--configuration_bert.JinaBertConfig",
     "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel", "bert"},
    {"gte", "configuration_hf_alibaba_nlp_gte.GteConfig", "modeling_hf_alibaba_nlp_gte.GteModel",
     "gte"},
    {"llama_bidirec", "llama_bidirectional_model.LlamaBidirectionalConfig",
     "llama_bidirectional_model.LlamaBidirectionalModel", "llama_bidirec"},
    {"codesage", "config_codesage.CodeSageConfig", "modeling_codesage.CodeSageModel", "codesage"},
    {"eurobert", "configuration_eurobert.EuroBertConfig", "modeling_eurobert.EuroBertModel",
     "eurobert"},
    {"mistral", "", "GritLM/GritLM-7B--modeling_gritlm7b.MistralModel", "gritlm"},
};

// sentence-transformers issue 3140: without the code of jina-v2 the same files load as plain BERT,
// with other vectors and no warning.
TEST(Recipes, AreThoseOfThePublishedLayouts) {
  for (const Layout& layout : kLayouts) {
    const TinyModel model;
    write_code(model, layout.model_type, layout.config, layout.model);
    const ModelDirectory directory = model.open();
    const std::vector<std::string> expected(layout.config[0] == '\0' ? 1 : 2, layout.recipe);
    EXPECT_EQ(recipes_of(directory), expected) << layout.model;
    EXPECT_EQ(effective_result(directory, {}).recipes, expected);
    EXPECT_THAT(directory.recipes.back().code, HasSubstr(layout.model));
  }
}

TEST(Recipes, NeedTheirFileTheirClassAndTheirArchitecture) {
  for (const Layout& layout : kLayouts) {
    const std::string reference = layout.model;
    const auto found = [&](const std::string& name, const std::string& model_type) {
      return find_code_recipe(CodeRole::kModel, name, model_type) != nullptr;
    };
    EXPECT_TRUE(found(reference, layout.model_type)) << reference;
    EXPECT_FALSE(found(reference + "x", layout.model_type)) << reference;
    EXPECT_FALSE(found(reference, "electra")) << reference;
    EXPECT_FALSE(find_code_recipe(CodeRole::kConfig, reference, layout.model_type)) << reference;
    const std::string file = reference.substr(0, reference.find('.'));
    EXPECT_FALSE(found(file + "x" + reference.substr(file.size()), layout.model_type)) << reference;
  }
}

TEST(Recipes, OfTheModelAndTheTokenizerAreRecognizedSeparately) {
  const TinyModel model;
  model.write("config.json", config_of("qwen2", R"("architectures": ["Qwen2ForCausalLM"])"));
  model.write("tokenizer_config.json", kGteTokenizer);
  const ModelDirectory tokenizer = model.open();
  EXPECT_THAT(recipes_of(tokenizer), ElementsAre("qwen2_eos"));
  EXPECT_EQ(tokenizer_rules(tokenizer, {}).recipe, TokenizerRecipe::kAppendEos);
  EXPECT_EQ(effective_result(tokenizer, {}).causal, std::nullopt);

  write_code(model, "qwen2", "", "modeling_qwen.Qwen2Model");
  EXPECT_THAT(recipes_of(model.open()), ElementsAre("qwen2_bidirectional", "qwen2_eos"));
  model.write("tokenizer_config.json", "{}");
  EXPECT_EQ(tokenizer_rules(model.open(), {}).recipe, TokenizerRecipe::kNone);
}

// vLLM pull request 14609: the repositories of gte-Qwen2 stated is_causal first with one value and
// then with the other, and servers followed another value than the model's own code.
TEST(Recipes, AttentionIsBidirectionalWhereTheConfigDoesNotSayIt) {
  const TinyModel model;
  write_code(model, "qwen2", "", "modeling_qwen.Qwen2Model");
  EXPECT_EQ(effective_result(model.open(), {}).causal, false);
  ResultOptions options;
  options.causal = true;
  EXPECT_EQ(effective_result(model.open(), options).causal, true) << "the user decides";
  for (const char* stated : {"true", "false"}) {
    model.write("config.json",
                config_of("qwen2", fmt::format(R"("is_causal": {}, "auto_map": {{"AutoModel":
                    "modeling_qwen.Qwen2Model"}})",
                                               stated)));
    EXPECT_EQ(effective_result(model.open(), {}).causal, std::nullopt) << stated;
  }
}

// gritlm/gritlm.py of the authors calls the model with is_causal=False, takes the mean of the
// tokens after the instruction and normalizes it. scripts/modeling_mistral_gritlm.py has a window
// for causal attention only.
TEST(Recipes, GritLmIsPooledAsItsAuthorsDo) {
  const TinyModel model;
  model.write("config.json", config_of("mistral", R"("architectures": ["MistralForCausalLM"],
      "sliding_window": 4096, "auto_map": {"AutoModel": "modeling_gritlm7b.MistralModel"})"));
  model.remove("modules.json");
  const ModelDirectory directory = model.open();
  const EffectiveResult result = effective_result(directory, {});
  EXPECT_EQ(result.causal, false);
  EXPECT_THAT(result.pooling, ElementsAre(PoolingMode::kMean));
  EXPECT_FALSE(result.include_prompt);
  EXPECT_TRUE(result.normalize);
  EXPECT_THAT(directory.config_json, HasSubstr(R"("sliding_window":null)"));
  const ModelDirectory plain = open_model_directory(model.path(), kIgnore);
  EXPECT_THAT(effective_result(plain, {}).pooling, ElementsAre(PoolingMode::kLastToken));
  EXPECT_THAT(plain.config_json, HasSubstr("4096"));
}

// The fixtures of vLLM's tests/tokenizers_/test_hf.py have both forms of auto_map.
TEST(Recipes, TheClassesOfATokenizerAreAListOrOneName) {
  for (const char* classes : {R"(["tokenization_qwen.Qwen2Tokenizer", null])",
                              R"([null, "org/name--tokenization_qwen.Qwen2TokenizerFast"])",
                              R"("tokenization_qwen.Qwen2TokenizerFast")"}) {
    const TinyModel model;
    model.write("tokenizer_config.json",
                fmt::format(R"({{"auto_map": {{"AutoTokenizer": {}}}}})", classes));
    EXPECT_THAT(recipes_of(model.open()), ElementsAre("qwen2_eos")) << classes;
  }
  const TinyModel model;
  model.write("tokenizer_config.json",
              R"({"auto_map": ["tokenization_qwen.Qwen2Tokenizer", null]})");
  EXPECT_THAT(recipes_of(model.open()), ElementsAre("qwen2_eos"));
}

// AutoTokenizer reads the auto_map of config.json only if tokenizer_config.json states no class.
TEST(Recipes, AClassInTokenizerConfigComesBeforeTheTokenizerOfConfig) {
  const TinyModel model;
  model.write("config.json", config_of("qwen2", R"("auto_map": {"AutoTokenizer":
                  ["tokenization_qwen.Qwen2Tokenizer", null]})"));
  EXPECT_THAT(recipes_of(model.open()), ElementsAre("qwen2_eos"));
  model.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  EXPECT_THAT(recipes_of(model.open()), IsEmpty());
}

TEST(Recipes, OtherEntriesOfAutoMapDoNotCount) {
  const TinyModel model;
  model.write("config.json", config_of("qwen2", R"("auto_map": {"AutoModelForCausalLM": "own.Code",
      "AutoModelForSequenceClassification": "own.Code", "AutoModel": null})"));
  model.write("tokenizer_config.json", R"({"auto_map": {"AutoProcessor": "own.Code"}})");
  EXPECT_THAT(recipes_of(model.open()), IsEmpty());
  model.write("config.json", config_of("qwen2", R"("auto_map": null)"));
  EXPECT_THAT(recipes_of(model.open()), IsEmpty());
}

// --- Unknown code

// The ways to name code, and what the error says about it.
struct Unknown {
  const char* file;
  std::string content;
  std::string found;
  std::string effect;
};

std::vector<Unknown> unknown_code() {
  return {
      {"config.json", config_of("bert", R"("auto_map": {"AutoModel": "modeling_own.OwnModel"})"),
       "config.json: auto_map.AutoModel: 'modeling_own.OwnModel'", "the layers and the attention"},
      {"config.json", config_of("bert", R"("auto_map": {"AutoConfig": "org/x--c.OwnConfig"})"),
       "config.json: auto_map.AutoConfig: 'org/x--c.OwnConfig'", "the settings"},
      {"config.json", config_of("bert", R"("auto_map": {"AutoTokenizer": ["t.Own", null]})"),
       "config.json: auto_map.AutoTokenizer: 't.Own'", "the token ids"},
      {"config.json", config_of("xlm-roberta", R"("auto_map": {"AutoModel":
           "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"})"),
       "--modeling_lora.XLMRobertaLoRA'", "the layers and the attention"},
      {"config.json", config_of("xlm-roberta", R"("auto_map": {"AutoConfig":
           "jinaai/xlm-roberta-flash-implementation--configuration_xlm_roberta.XLMRobertaFlashConfig"})"),
       "--configuration_xlm_roberta.XLMRobertaFlashConfig'", "the settings"},
      // The class of another architecture.
      {"config.json", config_of("bert", R"("auto_map": {"AutoModel": "modeling.NewModel"})"),
       "config.json: auto_map.AutoModel: 'modeling.NewModel'", "the layers and the attention"},
      {"tokenizer_config.json", R"({"auto_map": {"AutoTokenizer": ["t.Slow", "t.Fast"]}})",
       "tokenizer_config.json: auto_map.AutoTokenizer: 't.Fast'", "the token ids"},
      {"modules.json",
       R"([{"idx": 0, "name": "transformer", "path": "", "type": "custom_st.Transformer"},
           {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])",
       "modules.json: 'custom_st.Transformer'", "the steps before and after the transformer"},
      {"modules.json",
       R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
           {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
           {"idx": 2, "name": "2", "path": "2_Own", "type": "own_code.Scale"}])",
       "modules.json: 'own_code.Scale'", "the steps before and after the transformer"},
  };
}

TEST(UnknownCode, IsRefusedWithItsFileAndClass) {
  for (const Unknown& unknown : unknown_code()) {
    const TinyModel model;
    model.write(unknown.file, unknown.content);
    expect_refused([&] { model.open(); },
                   {"model.custom_code", unknown.effect, "docs/models.md", unknown.found});
  }
}

TEST(UnknownCode, IsIgnoredWithAWarningIfTheUserSaysSo) {
  for (const Unknown& unknown : unknown_code()) {
    const TinyModel model;
    model.write(unknown.file, unknown.content);
    const ModelDirectory directory = open_model_directory(model.path(), kIgnore);
    EXPECT_THAT(directory.warnings,
                ElementsAre(AllOf(HasSubstr("ignore_custom_code"), HasSubstr(unknown.found),
                                  HasSubstr(unknown.effect))));
    EXPECT_EQ(directory.modules.front().kind, SentenceModule::Kind::kPooling);
    ResultOptions options;
    options.ignore_custom_code = true;
    EXPECT_TRUE(effective_result(directory, options).ignore_custom_code);
  }
}

// The key accepts the plain behaviour, so it also switches the recipes off.
TEST(UnknownCode, IgnoringAppliesToKnownCodeToo) {
  const TinyModel model;
  write_code(model, "qwen2", "", "modeling_qwen.Qwen2Model");
  model.write("tokenizer_config.json", kGteTokenizer);
  const ModelDirectory directory = open_model_directory(model.path(), kIgnore);
  EXPECT_THAT(directory.recipes, IsEmpty());
  EXPECT_EQ(effective_result(directory, {}).causal, std::nullopt);
  EXPECT_EQ(tokenizer_rules(directory, {}).recipe, TokenizerRecipe::kNone);
  EXPECT_EQ(directory.warnings.size(), 2U);
}

TEST(UnknownCode, AllOfItIsNamedAndEscaped) {
  const TinyModel model;
  write_code(model, "qwen2", "c.Own", "modeling_qwen.Qwen2Model");
  model.write("tokenizer_config.json", R"({"auto_map": {"AutoTokenizer": "t\u001b.Own"}})");
  try {
    model.open();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().found,
              R"(config.json: auto_map.AutoConfig: 'c.Own'; tokenizer_config.json: )"
              R"(auto_map.AutoTokenizer: 't\x1b.Own')");
    EXPECT_THAT(error.detail().hint, HasSubstr("ignore_custom_code: true"));
  }
}

TEST(UnknownCode, AMalformedAutoMapIsRefused) {
  for (const char* map : {"7", "[]", R"("own.Code")", R"({"AutoModel": 7})", R"({"AutoModel": []})",
                          R"({"AutoTokenizer": ["a.B"]})", R"({"AutoTokenizer": [7, null]})"}) {
    const TinyModel model;
    model.write("config.json", config_of("bert", fmt::format(R"("auto_map": {})", map)));
    expect_refused([&] { model.open(); }, {"model.config", "auto_map", "", ""});
  }
}

// sentence-transformers reads only the tokenizer.json of a StaticEmbedding.
TEST(UnknownCode, DoesNotCountBesideAStaticEmbedding) {
  const TinyModel model;
  model.write(
      "modules.json",
      R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.StaticEmbedding"}])");
  model.write("tokenizer_config.json", R"({"auto_map": {"AutoTokenizer": "t.Own"}})");
  EXPECT_THAT(
      find_custom_code(ModelFolder::open(model.path(), nullptr), CustomCodePolicy::kRefuse).applied,
      IsEmpty());
}

TEST(UnknownCode, IsRefusedBeforeTheWeightsAreDownloaded) {
  for (const Unknown& unknown : unknown_code()) {
    const TinyModel model;
    model.write(unknown.file, unknown.content);
    const std::set<std::string> available = {
        "config.json",           "model.safetensors",
        "modules.json",          "1_Pooling/config.json",
        "tokenizer_config.json", "sentence_bert_config.json",
        "tokenizer.json",        "config_sentence_transformers.json"};
    const TinyModel downloaded;
    downloaded.remove("model.safetensors");
    downloaded.write(unknown.file, unknown.content);
    expect_refused([&] { needed_files(available, downloaded.path()); },
                   {"model.custom_code", unknown.effect, "", unknown.found});
    EXPECT_THAT(needed_files(available, downloaded.path(), kIgnore),
                ::testing::Contains("model.safetensors"));
  }
}

}  // namespace
}  // namespace encode
