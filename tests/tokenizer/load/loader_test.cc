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

Refusal edited(const std::string& name, const std::string& code, const std::string& message,
               const std::function<void(Json&)>& edit, const std::function<Json()>& base = bpe) {
  return {name, code, message, [=] {
            Json json = base();
            edit(json);
            return json.dump();
          }};
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

std::vector<Refusal> refusals() {
  return {
      {"NotJson", kFormat, "malformed JSON", [] { return std::string("{"); }},
      {"TextAfterTheEnd", kFormat, "malformed JSON", [] { return bpe().dump() + "x"; }},
      {"BadUtf8", kFormat, "malformed JSON", [] { return "{\"model\": \"\xFF\"}"; }},
      {"NoModel", kFormat, "no model", [] { return std::string("{}"); }},
      {"TooDeep", kFormat, "malformed JSON", [] { return deep_normalizer(40); }},
      {"DuplicateToken", kFormat, "'a'",
       [] { return std::string(R"({"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}})"); }},
      {"DuplicateKey", kFormat, "duplicate key",
       [] { return std::string(R"({"version":"1.0","version":"1.0","model":{}})"); }},
      edited("UnknownKey", kUnsupported, "'extra'", [](Json& j) { j["extra"] = 1; }),
      edited("Version", kUnsupported, "2.0", [](Json& j) { j["version"] = "2.0"; }),
      edited("UnknownNormalizer", kUnsupported, "normalizer type 'Foo' is not supported",
             [](Json& j) {
               j["normalizer"] = {{"type", "Foo"}};
             }),
      edited("UnknownNestedNormalizer", kUnsupported, "normalizer.Sequence[0]",
             [](Json& j) {
               j["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "Foo"}}}}};
             }),
      edited("UnknownNormalizerKey", kUnsupported, "'form'",
             [](Json& j) {
               j["normalizer"] = {{"type", "NFC"}, {"form", 1}};
             }),
      edited("Base64BetweenSpaces", kFormat, "'precompiled_charsmap'",
             [](Json& j) { j["normalizer"] = charsmap(" AAAAAAA"); }),
      edited("Base64WithPaddingInside", kFormat, "'precompiled_charsmap'",
             [](Json& j) { j["normalizer"] = charsmap("AA==AAAA"); }),
      edited("Base64WithoutPadding", kFormat, "'precompiled_charsmap'",
             [](Json& j) { j["normalizer"] = charsmap("AAAAAA"); }),
      edited("CharsmapWithoutTrie", kFormat, "0 of 4 bytes",
             [](Json& j) { j["normalizer"] = charsmap("AAAAAA=="); }),
      edited("UnknownPreTokenizer", kUnsupported, "pre-tokenizer type 'Foo' is not supported",
             [](Json& j) {
               j["pre_tokenizer"] = {{"type", "Foo"}};
             }),
      edited("UnknownPostProcessor", kUnsupported, "post-processor type 'Foo' is not supported",
             [](Json& j) {
               j["post_processor"] = {{"type", "Foo"}};
             }),
      edited("UnknownModel", kUnsupported, "model type 'Foo' is not supported",
             [](Json& j) { j["model"]["type"] = "Foo"; }),
      edited("UnknownModelKey", kUnsupported, "'surprise'",
             [](Json& j) { j["model"]["surprise"] = 1; }),
      edited("Dropout", kUnsupported, "dropout", [](Json& j) { j["model"]["dropout"] = 0.1; }),
      edited("NegativeId", kFormat, "-1", [](Json& j) { j["model"]["vocab"]["a"] = -1; }),
      edited("HugeId", kFormat, "4000000", [](Json& j) { j["model"]["vocab"]["a"] = 4000000; }),
      edited("FractionalId", kFormat, "malformed JSON",
             [](Json& j) { j["model"]["vocab"]["a"] = 0.5; }),
      edited("SharedId", kFormat, "share an id", [](Json& j) { j["model"]["vocab"]["a"] = 1; }),
      edited("LongUnigramToken", kFormat, "(4097 bytes)",
             [](Json& j) {
               j["model"] = {{"type", "Unigram"},
                             {"unk_id", 0},
                             {"vocab", Json::array({Json::array({"a", -1.0}),
                                                    Json::array({std::string(4097, 'x'), -1.0})})}};
             }),
      edited("LongAddedToken", kFormat, "(4097 bytes)",
             [](Json& j) { j["added_tokens"] = Json::array({added(std::string(4097, 'x'), 4)}); }),
      edited("AddedTokenThatNormalizationMakesLong", kFormat, "8192 bytes",
             [](Json& j) {
               j["normalizer"] = {
                   {"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", "yy"}};
               j["added_tokens"] = Json::array({added(std::string(4096, 'x'), 4)});
               j["added_tokens"][0]["normalized"] = true;
             }),
      edited("MergeOfUnknown", kFormat, "'z'", [](Json& j) { j["model"]["merges"] = {"a z"}; }),
      edited("MergeIntoUnknown", kFormat, "'ac'", [](Json& j) { j["model"]["merges"] = {"a c"}; }),
      edited("MergeOfThree", kFormat, "malformed merge",
             [](Json& j) { j["model"]["merges"] = {"a b c"}; }),
      edited("MergeListOfThree", kFormat, "malformed merge",
             [](Json& j) {
               j["model"]["merges"] = {{"a", "b", "c"}};
             }),
      edited("NoMerges", kFormat, "'merges'", [](Json& j) { j["model"].erase("merges"); }),
      edited("UnknownUnk", kFormat, "'unk_token'", [](Json& j) { j["model"]["unk_token"] = "?"; }),
      edited("SomeByteTokens", kFormat, "1 of 256",
             [](Json& j) {
               j["model"]["byte_fallback"] = true;
               j["model"]["vocab"]["<0x41>"] = 4;
             }),
      edited(
          "WordPieceWithoutUnk", kFormat, "'unk_token'",
          [](Json& j) { j["model"]["unk_token"] = "no"; }, wordpiece),
      edited(
          "WordPieceWithLongWords", kFormat, "'max_input_chars_per_word'",
          [](Json& j) { j["model"]["max_input_chars_per_word"] = 1025; }, wordpiece),
      edited("AddedTokenWrongId", kFormat, "wrong id",
             [](Json& j) { j["added_tokens"] = Json::array({added("<x>", 9)}); }),
      edited("AddedTokenTwice", kFormat, "<x>",
             [](Json& j) {
               j["added_tokens"] = Json::array({added("<x>", 4), added("<x>", 5)});
             }),
      edited("AddedTokenEmpty", kFormat, "'content'",
             [](Json& j) { j["added_tokens"] = Json::array({added("", 4)}); }),
      edited("AddedTokenUnknownKey", kUnsupported, "'color'",
             [](Json& j) {
               j["added_tokens"] = Json::array({added("<x>", 4)});
               j["added_tokens"][0]["color"] = 1;
             }),
      edited("TemplateTokenMissing", kFormat, "[CLS]",
             [](Json& j) {
               j["post_processor"] =
                   Json::parse(R"({"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
             }),
      edited(
          "TemplateWithoutText", kFormat, "'single'",
          [](Json& j) {
            j["post_processor"] = Json::parse(
                R"({"type": "TemplateProcessing", "pair": [], "special_tokens": {}, "single": []})");
          }),
      edited("SpecialTokensAfterATemplate", kUnsupported, "post_processor.Sequence[1]",
             [](Json& j) {
               const Json bert = {
                   {"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}, {"cls", {"[CLS]", 0}}};
               Json form = Json::parse(R"({"type": "TemplateProcessing", "pair": [],
                 "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}},
                 "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
               j["post_processor"] = {{"type", "Sequence"},
                                      {"processors", Json::array({std::move(form), bert})}};
             }),
      edited("SpecialIdOutsideOfVocabulary", kFormat, "below 4",
             [](Json& j) {
               j["post_processor"] = {
                   {"type", "BertProcessing"}, {"sep", {"[SEP]", 4}}, {"cls", {"[CLS]", 0}}};
             }),
      edited("LongPattern", kFormat, "8192 bytes",
             [](Json& j) { j["pre_tokenizer"] = pattern_split(std::string(8193, 'x')); }),
      edited("BadPattern", kUnsupported, "'[' without ']'",
             [](Json& j) { j["pre_tokenizer"] = pattern_split("[a"); }),
      edited("UnbalancedPattern", kFormat, "malformed regular expression",
             [](Json& j) { j["pre_tokenizer"] = pattern_split("(a"); }),
      edited("PatternMatchesNothing", kUnsupported, "can match the empty string",
             [](Json& j) { j["pre_tokenizer"] = pattern_split("a*"); }),
      edited("PatternOfAnotherMeaning", kUnsupported, "\\h",
             [](Json& j) { j["pre_tokenizer"] = pattern_split("\\h"); }),
      edited("PatternWithCallout", kUnsupported, "group",
             [](Json& j) { j["pre_tokenizer"] = pattern_split("(*UTF)a"); }),
      edited("UnknownBehavior", kFormat, "'behavior'",
             [](Json& j) {
               j["pre_tokenizer"] = pattern_split("a");
               j["pre_tokenizer"]["behavior"] = "Vanish";
             }),
  };
}

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesWhatIsWrong) {
  try {
    load(GetParam().text());
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
    EXPECT_EQ(error.detail().code, GetParam().code);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    EXPECT_THAT(error.detail().where, HasSubstr("tokenizer.json"));
  }
}
INSTANTIATE_TEST_SUITE_P(Files, RefusalTest, ::testing::ValuesIn(refusals()),
                         [](const auto& test) { return test.param.name; });

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
