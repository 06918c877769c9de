// Tests how the tokens of a prompt are counted. The expected numbers are those of
// _get_prompt_length() of sentence-transformers 6.0.1.
#include "tokenizer/prompt_tokens.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using testing::refused;

// A word is one token. "[CLS]", "[SEP]" and "<end>" are special tokens.
std::unique_ptr<Tokenizer> load(const std::string& post_processor,
                                const std::string& truncation = "null") {
  TokenizerSource source;
  source.folder = "MODEL";
  source.files["tokenizer.json"] =
      R"({"model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,)"
      R"("query":3,"a":4,"<end>":5}},"pre_tokenizer":{"type":"WhitespaceSplit"},"truncation":)" +
      truncation +
      R"(,"added_tokens":[)"
      R"({"id":1,"content":"[CLS]","special":true,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false},)"
      R"({"id":2,"content":"[SEP]","special":true,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false},)"
      R"({"id":5,"content":"<end>","special":true,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false}],)"
      R"("post_processor":)" +
      post_processor + "}";
  return load_tokenizer_from(std::move(source));
}

const std::string kAround = R"({"type":"BertProcessing","cls":["[CLS]",1],"sep":["[SEP]",2]})";
const std::string kBefore =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
    R"({"Sequence":{"id":"B","type_id":1}}],)"
    R"("special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]}}})";

TEST(PromptTokens, OneSpecialTokenAtTheEndIsTakenOff) {
  const auto around = load(kAround);
  EXPECT_EQ(prompt_tokens(*around, ""), 0);
  EXPECT_EQ(prompt_tokens(*around, "query a"), 3);
  EXPECT_EQ(prompt_tokens(*around, "query [SEP]"), 3) << "[CLS] query [SEP], without one [SEP]";
  EXPECT_EQ(prompt_tokens(*around, "query <end>"), 3);
}

// Models such as Llama have no special token after a row, so a special token at the end of the
// prompt itself is subtracted.
TEST(PromptTokens, WithoutATokenAfterTheRowThePromptsOwnSpecialTokenIsTakenOff) {
  const auto before = load(kBefore);
  EXPECT_EQ(prompt_tokens(*before, "query a"), 3);
  EXPECT_EQ(prompt_tokens(*before, "query <end>"), 2);
  EXPECT_EQ(prompt_tokens(*before, "query <end> a"), 4);
  EXPECT_EQ(prompt_tokens(*load("null"), "query [SEP]"), 1);
}

TEST(PromptTokens, APromptThatFillsMaxLengthIsRefused) {
  const auto tokenizer = load(kAround);
  const auto check = [&](const std::string& prompt, int64_t max_length) {
    require_room_after_prompt(*tokenizer, prompt, {.max_length = max_length}, "MODEL");
  };
  check("query a ", 5);
  check("", 1);
  for (const int64_t max_length : {4, 3, 2, 1}) {
    const ErrorDetail error = refused([&] { check("query a ", max_length); });
    EXPECT_EQ(error.code.name(), "model.max_length") << max_length;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig) << max_length;
    EXPECT_THAT(error.expected, HasSubstr("above 4")) << max_length;
  }
}

// A row that is truncated on the left loses its prompt and keeps its text.
TEST(PromptTokens, TruncationOnTheLeftKeepsTheText) {
  const auto left = load(kAround, R"({"direction":"Left","max_length":512,)"
                                  R"("strategy":"LongestFirst","stride":0})");
  require_room_after_prompt(*left, "query query query query ", {.max_length = 4}, "MODEL");
  const auto ids = [](const Tokenizer& tokenizer) {
    TokenizedRows rows;
    tokenizer.encode("query query query query a a", {.max_length = 4}, rows);
    return rows.ids;
  };
  EXPECT_EQ(ids(*left), (std::vector<int32_t>{1, 4, 4, 2}));
  EXPECT_EQ(ids(*load(kAround)), (std::vector<int32_t>{1, 3, 3, 2})) << "on the right";
}

}  // namespace
}  // namespace encode
