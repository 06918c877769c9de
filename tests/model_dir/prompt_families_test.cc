// Tests which models are known to be trained with prompts, and what a run says about their prompts.
#include "model_dir/prompt_families.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

ModelDirectory named(const std::string& path, const std::string& name_or_path = "") {
  ModelDirectory directory;
  directory.path = path;
  directory.config_json =
      name_or_path.empty() ? "{}" : R"({"_name_or_path": ")" + name_or_path + "\"}";
  return directory;
}

std::string family_of(const ModelDirectory& directory) {
  const std::optional<KnownPrompts> known = find_prompt_family(directory);
  return known ? fmt::format("{}: {}", known->family->name, known->repository) : "";
}

TEST(PromptFamilies, AreFoundByTheNamesThatADirectoryStates) {
  const std::string e5 = "E5: intfloat/e5-base-v2";
  EXPECT_EQ(family_of(named("/hub/models--intfloat--e5-base-v2/snapshots/0123")), e5);
  EXPECT_EQ(family_of(named("/models/e5-base-v2")), e5);
  EXPECT_EQ(family_of(named("/models/intfloat--e5-base-v2")), e5);
  EXPECT_EQ(family_of(named("/models/intfloat_e5-base-v2")), e5);
  EXPECT_EQ(family_of(named("/models/mine", "intfloat/e5-base-v2")), e5);
  EXPECT_EQ(family_of(named("/models/mine", "/data/cache/intfloat_e5-base-v2/")), e5);
  EXPECT_EQ(family_of(named("/models/mine", "./e5-base-v2")), e5);
  EXPECT_EQ(family_of(named("/models/BGE-base-en-v1.5")), "BGE, English: BAAI/bge-base-en-v1.5");
  EXPECT_EQ(find_prompt_family(named("/m", "intfloat/e5-base-v2"))->place,
            "_name_or_path of config.json");
}

TEST(PromptFamilies, NothingIsGuessedFromPartsOfNames) {
  for (const char* path :
       {"/models/e5", "/models/my-e5-base-v2", "/models/e5-base-v2-ft", "/e5-base-v2/final",
        "/hub/models--other--e5-base-v2/snapshots/0123", "/models/all-MiniLM-L6-v2", "/"}) {
    EXPECT_EQ(family_of(named(path)), "") << path;
  }
  EXPECT_EQ(family_of(named("/models/mine", "other/e5-base-v2")), "");
  EXPECT_EQ(family_of(named("/models/mine", "")), "");
}

TEST(PromptFamilies, ARepositoryBelongsToOneFamily) {
  std::set<std::string_view> seen;
  for (const PromptFamily& family : prompt_families()) {
    EXPECT_FALSE(family.query.empty() && family.document.empty()) << family.name;
    EXPECT_FALSE(family.source.empty()) << family.name;
    for (const std::string_view repository : family.repositories) {
      EXPECT_TRUE(seen.insert(repository).second) << repository;
      EXPECT_THAT(std::string(repository), HasSubstr("/"));
    }
  }
}

// A model at a path that names a family.
class Advice : public ::testing::Test {
 protected:
  Advice() {
    fs::copy(model_.path(), dir_.file("e5-base-v2"), fs::copy_options::recursive);
    fs::remove(dir_.file("e5-base-v2/config_sentence_transformers.json"));
  }
  ModelDirectory open() const { return open_model_directory(dir_.file("e5-base-v2")); }

  testing::TinyModel model_;
  testing::TempDir dir_;
};

TEST_F(Advice, IsGivenOnceNobodyHasChosenAPrompt) {
  const std::string advice = prompt_advice(open(), {}).value_or("none");
  EXPECT_THAT(advice, HasSubstr("intfloat/e5-base-v2 (the name of the directory)"));
  EXPECT_THAT(advice, HasSubstr("'query: ' before queries and 'passage: ' before texts"));
  EXPECT_THAT(advice, HasSubstr("semantic.prompt (--prompt)"));
  EXPECT_EQ(effective_result(open(), {}).prompt, "") << "no prompt is added by guess";
}

TEST_F(Advice, IsNotGivenToThoseWhoHaveChosen) {
  ResultOptions options;
  options.prompt = "";
  EXPECT_FALSE(prompt_advice(open(), options)) << "an empty prompt is a choice too";
  options.prompt = "query: ";
  EXPECT_FALSE(prompt_advice(open(), options));
  EXPECT_FALSE(prompt_advice(model_.open(), {})) << "the model is of no known family";
  dir_.write("e5-base-v2/config_sentence_transformers.json",
             R"({"prompts": {"document": "passage: "}, "default_prompt_name": "document"})");
  EXPECT_FALSE(prompt_advice(open(), {}));
  EXPECT_EQ(describe_prompt(open(), {}),
            "every row gets the prompt 'passage: ' (default_prompt_name 'document' of the model "
            "directory)");
}

TEST_F(Advice, ThePromptOfEveryRowIsDescribedWithItsOrigin) {
  EXPECT_EQ(describe_prompt(model_.open(), {}),
            "no row gets a prompt (the model directory has no default)");
  ResultOptions options;
  options.prompt_name = "passage";
  EXPECT_EQ(describe_prompt(model_.open(), options),
            "every row gets the prompt 'passage: ' (prompt_name 'passage' of the options)");
  options.prompt = "a\n";
  EXPECT_EQ(describe_prompt(model_.open(), options),
            "every row gets the prompt 'a\\x0a' (prompt of the options)");
}

std::string cell(std::string_view prompt) {
  if (prompt.empty()) return "none";
  std::string text = one_line(prompt);
  for (size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 2))
    text.insert(bar, "\\");
  return "`" + text + "`";
}

// The page has exactly the table of the code.
TEST(PromptFamilies, ThePageOfThePromptsShowsTheTableOfTheCode) {
  const std::string page = testing::read_bytes(testing::source_file("docs/howto/prompts.md"));
  std::string table;
  for (const PromptFamily& family : prompt_families()) {
    table += fmt::format("| {} | {} | {} | {} | {} | {} |\n", family.name,
                         fmt::join(family.repositories, ", "), cell(family.query),
                         cell(family.document), cell(family.others), family.source);
  }
  EXPECT_THAT(page, HasSubstr("|---|---|---|---|---|---|\n" + table + "\n")) << table;
}

}  // namespace
}  // namespace encode
