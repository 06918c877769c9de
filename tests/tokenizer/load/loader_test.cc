// Tests that a tokenizer.json that is not fully supported is refused, with a message that names the
// wrong part.
#include <fmt/format.h>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

// Small tokenizers that load. The tests below change one field of them and expect a refusal.
Json bpe() {
  return Json::parse(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]}})");
}
Json wordpiece() {
  Json json = bpe();
  json["model"] = Json::parse(
      R"({"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 100})");
  return json;
}

std::unique_ptr<Tokenizer> load(const std::string& text) {
  const testing::TempDir dir;
  return load_tokenizer(dir.write("tokenizer.json", text));
}

struct Refusal {
  std::string name;
  std::string code;
  std::string message;                // a part of the error message
  std::function<std::string()> text;  // returns the content of the file
};

// Returns a function that edits a tokenizer and returns its text.
std::function<std::string()> edited(const std::function<void(Json&)>& edit,
                                    const std::function<Json()>& base = bpe) {
  return [=] {
    Json json = base();
    edit(json);
    return json.dump();
  };
}

Json pattern_split(const std::string& regex) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Json charsmap(const std::string& base64) {
  return {{"type", "Precompiled"}, {"precompiled_charsmap", base64}};
}

Json added(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

std::string deep_normalizer(int depth) {
  std::string nested = R"({"type":"NFC"})";
  for (int i = 0; i < depth; ++i)
    nested = fmt::format(R"({{"type":"Sequence","normalizers":[{}]}})", nested);
  Json json = bpe();
  json.erase("normalizer");
  std::string text = json.dump();
  text.pop_back();
  return fmt::format(R"({},"normalizer":{}}})", text, nested);
}

const std::string kFormat = "tokenizer.format";
const std::string kUnsupported = "tokenizer.unsupported";

std::vector<Refusal> file_refusals() {
  return {
      {"NotJson", kFormat, "malformed JSON", [] { return std::string("{"); }},
      {"TextAfterTheEnd", kFormat, "malformed JSON", [] { return bpe().dump() + "x"; }},
      {"BadUtf8", kFormat, "malformed JSON", [] { return "{\"model\": \"\xFF\"}"; }},
      {"NoModel", kFormat, "no model", [] { return std::string("{}"); }},
      {"TooDeep", kFormat, "nested too deeply", [] { return deep_normalizer(40); }},
      {"DuplicateToken", kFormat, "'a'",
       [] { return std::string(R"({"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}})"); }},
      {"DuplicateKey", kFormat, "duplicate key",
       [] { return std::string(R"({"version":"1.0","version":"1.0","model":{}})"); }},
      {"UnknownKey", kUnsupported, "'extra'", edited([](Json& j) { j["extra"] = 1; })},
      {"Version", kUnsupported, "2.0", edited([](Json& j) { j["version"] = "2.0"; })},
  };
}

std::vector<Refusal> stage_refusals() {
  return {
      {"UnknownNormalizer", kUnsupported, "normalizer type 'Foo' is not supported",
       edited([](Json& j) {
         j["normalizer"] = {{"type", "Foo"}};
       })},
      {"UnknownNestedNormalizer", kUnsupported, "normalizer.Sequence[0]", edited([](Json& j) {
         j["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "Foo"}}}}};
       })},
      {"UnknownNormalizerKey", kUnsupported, "'form'", edited([](Json& j) {
         j["normalizer"] = {{"type", "NFC"}, {"form", 1}};
       })},
      {"Base64BetweenSpaces", kFormat, "'precompiled_charsmap'",
       edited([](Json& j) { j["normalizer"] = charsmap(" AAAAAAA"); })},
      {"Base64WithPaddingInside", kFormat, "'precompiled_charsmap'",
       edited([](Json& j) { j["normalizer"] = charsmap("AA==AAAA"); })},
      {"Base64WithoutPadding", kFormat, "'precompiled_charsmap'",
       edited([](Json& j) { j["normalizer"] = charsmap("AAAAAA"); })},
      {"CharsmapWithoutTrie", kFormat, "0 of 4 bytes",
       edited([](Json& j) { j["normalizer"] = charsmap("AAAAAA=="); })},
      {"UnknownPreTokenizer", kUnsupported, "pre-tokenizer type 'Foo' is not supported",
       edited([](Json& j) {
         j["pre_tokenizer"] = {{"type", "Foo"}};
       })},
      {"UnknownPostProcessor", kUnsupported, "post-processor type 'Foo' is not supported",
       edited([](Json& j) {
         j["post_processor"] = {{"type", "Foo"}};
       })},
  };
}

std::vector<Refusal> model_refusals() {
  return {
      {"UnknownModel", kUnsupported, "model type 'Foo' is not supported",
       edited([](Json& j) { j["model"]["type"] = "Foo"; })},
      {"UnknownModelKey", kUnsupported, "'surprise'",
       edited([](Json& j) { j["model"]["surprise"] = 1; })},
      {"Dropout", kUnsupported, "dropout", edited([](Json& j) { j["model"]["dropout"] = 0.1; })},
  };
}

std::vector<Refusal> vocabulary_refusals() {
  return {
      {"NegativeId", kFormat, "-1", edited([](Json& j) { j["model"]["vocab"]["a"] = -1; })},
      {"HugeId", kFormat, "4000000", edited([](Json& j) { j["model"]["vocab"]["a"] = 4000000; })},
      {"FractionalId", kFormat, "0.5 for 'a'",
       edited([](Json& j) { j["model"]["vocab"]["a"] = 0.5; })},
      {"SharedId", kFormat, "share an id", edited([](Json& j) { j["model"]["vocab"]["a"] = 1; })},
      {"LongUnigramToken", kFormat, "(4097 bytes)", edited([](Json& j) {
         j["model"] = {{"type", "Unigram"},
                       {"unk_id", 0},
                       {"vocab", Json::array({Json::array({"a", -1.0}),
                                              Json::array({std::string(4097, 'x'), -1.0})})}};
       })},
      {"LongAddedToken", kFormat, "(4097 bytes)", edited([](Json& j) {
         j["added_tokens"] = Json::array({added(std::string(4097, 'x'), 4)});
       })},
      {"AddedTokenThatNormalizationMakesLong", kFormat, "8192 bytes", edited([](Json& j) {
         j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", "yy"}};
         j["added_tokens"] = Json::array({added(std::string(4096, 'x'), 4)});
         j["added_tokens"][0]["normalized"] = true;
       })},
  };
}

std::vector<Refusal> merge_refusals() {
  return {
      {"MergeOfUnknown", kFormat, "'z'", edited([](Json& j) { j["model"]["merges"] = {"a z"}; })},
      {"MergeIntoUnknown", kFormat, "'ac'",
       edited([](Json& j) { j["model"]["merges"] = {"a c"}; })},
      {"MergeOfThree", kFormat, "malformed merge",
       edited([](Json& j) { j["model"]["merges"] = {"a b c"}; })},
      {"MergeListOfThree", kFormat, "malformed merge", edited([](Json& j) {
         j["model"]["merges"] = {{"a", "b", "c"}};
       })},
      {"NoMerges", kFormat, "'merges'", edited([](Json& j) { j["model"].erase("merges"); })},
      {"UnknownUnk", kFormat, "'unk_token'",
       edited([](Json& j) { j["model"]["unk_token"] = "?"; })},
      {"SomeByteTokens", kFormat, "1 of 256", edited([](Json& j) {
         j["model"]["byte_fallback"] = true;
         j["model"]["vocab"]["<0x41>"] = 4;
       })},
      {"WordPieceWithoutUnk", kFormat, "'unk_token'",
       edited([](Json& j) { j["model"]["unk_token"] = "no"; }, wordpiece)},
      {"WordPieceWithLongWords", kFormat, "'max_input_chars_per_word'",
       edited([](Json& j) { j["model"]["max_input_chars_per_word"] = 1025; }, wordpiece)},
  };
}

std::vector<Refusal> added_token_refusals() {
  return {
      {"AddedTokenWrongId", kFormat, "wrong id",
       edited([](Json& j) { j["added_tokens"] = Json::array({added("<x>", 9)}); })},
      {"AddedTokenTwice", kFormat, "<x>", edited([](Json& j) {
         j["added_tokens"] = Json::array({added("<x>", 4), added("<x>", 5)});
       })},
      {"AddedTokenEmpty", kFormat, "'content'",
       edited([](Json& j) { j["added_tokens"] = Json::array({added("", 4)}); })},
      {"AddedTokenWithoutAFlag", kFormat, "'normalized'", edited([](Json& j) {
         j["added_tokens"] = Json::array({added("<x>", 4)});
         j["added_tokens"][0].erase("normalized");
       })},
      {"AddedTokenUnknownKey", kUnsupported, "'color'", edited([](Json& j) {
         j["added_tokens"] = Json::array({added("<x>", 4)});
         j["added_tokens"][0]["color"] = 1;
       })},
  };
}

std::vector<Refusal> post_processor_refusals() {
  return {
      {"TemplateTokenMissing", kFormat, "[CLS]", edited([](Json& j) {
         j["post_processor"] =
             Json::parse(R"({"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
       })},
      {"TemplateWithoutText", kFormat, "'single'", edited([](Json& j) {
         j["post_processor"] = Json::parse(
             R"({"type": "TemplateProcessing", "pair": [], "special_tokens": {}, "single": []})");
       })},
      {"SpecialTokensAfterATemplate", kUnsupported, "post_processor.Sequence[1]",
       edited([](Json& j) {
         const Json bert = {
             {"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}, {"cls", {"[CLS]", 0}}};
         Json form = Json::parse(R"({"type": "TemplateProcessing", "pair": [],
                 "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}},
                 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
         j["post_processor"] = {{"type", "Sequence"},
                                {"processors", Json::array({std::move(form), bert})}};
       })},
      {"SpecialIdOutsideOfVocabulary", kFormat, "below 4", edited([](Json& j) {
         j["post_processor"] = {
             {"type", "BertProcessing"}, {"sep", {"[SEP]", 4}}, {"cls", {"[CLS]", 0}}};
       })},
  };
}

std::vector<Refusal> pattern_refusals() {
  return {
      {"LongPattern", kFormat, "8192 bytes",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split(std::string(8193, 'x')); })},
      {"BadPattern", kUnsupported, "'[' without ']'",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split("[a"); })},
      {"UnbalancedPattern", kFormat, "malformed regular expression",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split("(a"); })},
      {"PatternMatchesNothing", kUnsupported, "can match the empty string",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split("a*"); })},
      {"PatternOfAnotherMeaning", kUnsupported, "\\h",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split("\\h"); })},
      {"PatternWithCallout", kUnsupported, "group",
       edited([](Json& j) { j["pre_tokenizer"] = pattern_split("(*UTF)a"); })},
      {"UnknownBehavior", kFormat, "'behavior'", edited([](Json& j) {
         j["pre_tokenizer"] = pattern_split("a");
         j["pre_tokenizer"]["behavior"] = "Vanish";
       })},
  };
}

std::string refusal_name(const ::testing::TestParamInfo<Refusal>& test) { return test.param.name; }

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesWhatIsWrong) {
  try {
    load(GetParam().text());
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
    EXPECT_EQ(error.detail().code.name(), GetParam().code);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    EXPECT_THAT(error.detail().where, HasSubstr("tokenizer.json"));
    EXPECT_FALSE(error.detail().what.empty());
    EXPECT_FALSE(error.detail().expected.empty()) << error.what();
    EXPECT_FALSE(error.detail().found.empty()) << error.what();
    EXPECT_FALSE(error.detail().hint.empty()) << error.what();
  }
}
INSTANTIATE_TEST_SUITE_P(File, RefusalTest, ::testing::ValuesIn(file_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(Stage, RefusalTest, ::testing::ValuesIn(stage_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(Model, RefusalTest, ::testing::ValuesIn(model_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(Vocabulary, RefusalTest, ::testing::ValuesIn(vocabulary_refusals()),
                         refusal_name);
INSTANTIATE_TEST_SUITE_P(Merge, RefusalTest, ::testing::ValuesIn(merge_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(AddedToken, RefusalTest, ::testing::ValuesIn(added_token_refusals()),
                         refusal_name);
INSTANTIATE_TEST_SUITE_P(PostProcessor, RefusalTest, ::testing::ValuesIn(post_processor_refusals()),
                         refusal_name);
INSTANTIATE_TEST_SUITE_P(Pattern, RefusalTest, ::testing::ValuesIn(pattern_refusals()),
                         refusal_name);

TEST(LoaderTest, TheFilesThatTheRefusalsAreMadeOfLoad) {
  EXPECT_EQ(load(bpe().dump())->vocab_size(), 4);
  EXPECT_EQ(load(wordpiece().dump())->vocab_size(), 3);
  Json with_added = bpe();
  with_added["added_tokens"] = Json::array({added("<x>", 4)});
  EXPECT_EQ(load(with_added.dump())->vocab_size(), 5);
  EXPECT_EQ(load(with_added.dump())->token(4), "<x>");
  EXPECT_EQ(load(deep_normalizer(15))->vocab_size(), 4);
}

TEST(LoaderTest, AMissingFileIsNoInput) {
  const testing::TempDir dir;
  for (const auto& attempt :
       {std::function<void()>([&] { load_tokenizer(dir.file("tokenizer.json")); }),
        std::function<void()>([&] { load_tokenizer_from_directory(dir.path()); })}) {
    try {
      attempt();
      FAIL() << "was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kNoInput);
    }
  }
}

TEST(LoaderTest, ADamagedSentencePieceModelIsRefused) {
  const testing::TempDir dir;
  std::string model =
      testing::read_bytes(testing::test_data("tokenizer/sentencepiece_bpe/tokenizer.model"));
  EXPECT_NO_THROW(load_tokenizer(dir.write("whole.model", model)));
  model.resize(model.size() / 2);
  EXPECT_THROW(load_tokenizer(dir.write("half.model", model)), Error);
}

}  // namespace
}  // namespace encode
