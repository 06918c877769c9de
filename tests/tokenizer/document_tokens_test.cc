// Tests the marker and the skip list of late-interaction models.
#include "tokenizer/document_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/error_of.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A word is one token. "[D]" is a token, and "~" is not.
std::string word_tokenizer(bool special_tokens) {
  const std::string around = R"({"type":"BertProcessing","cls":["[CLS]",1],"sep":["[SEP]",2]})";
  return R"({"model":{"type":"WordLevel","unk_token":"[UNK]","vocab":{"[UNK]":0,"[CLS]":1,)"
         R"("[SEP]":2,"a":3,"b":4,"c":5,".":6,"!":7,"[D]":8}},)"
         R"("pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":)" +
         (special_tokens ? around : "null") + "}";
}

class DocumentTokens : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const std::string& marker, bool special_tokens = true) const {
    ModelDirectory directory;
    directory.vocab_size = vocab_size_;
    directory.late_interaction = LateInteraction{marker, {}, ""};
    TokenizerSource source;
    source.folder = "MODEL";
    source.files["tokenizer.json"] = word_tokenizer(special_tokens);
    return load_document_tokenizer(source, directory);
  }

  int64_t vocab_size_ = 9;
};

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, const std::string& text,
                            int64_t max_length = 0) {
  TokenizedRows rows;
  tokenizer.encode(text, {.max_length = max_length}, rows);
  return rows.ids;
}

TEST_F(DocumentTokens, TheMarkerComesAfterTheFirstToken) {
  const auto tokenizer = load("[D]");
  EXPECT_THAT(ids_of(*tokenizer, "a b"), ElementsAre(1, 8, 3, 4, 2));
  EXPECT_THAT(ids_of(*tokenizer, ""), ElementsAre(1, 8, 2));
  const auto bare = load("[D]", false);
  EXPECT_THAT(ids_of(*bare, "a b"), ElementsAre(3, 8, 4));
  EXPECT_THAT(ids_of(*bare, ""), ElementsAre(8));
  EXPECT_THAT(tokenizer->description(), HasSubstr("marker '[D]'"));
  EXPECT_EQ(tokenizer->token(8), "[D]");
  EXPECT_EQ(tokenizer->vocab_size(), 9);
}

TEST_F(DocumentTokens, WithoutAMarkerTheTokensAreThoseOfTheTokenizer) {
  EXPECT_THAT(ids_of(*load(""), "a b"), ElementsAre(1, 3, 4, 2));
}

TEST_F(DocumentTokens, MaxLengthCountsTheMarker) {
  const auto tokenizer = load("[D]");
  TokenizedRows rows;
  for (const char* text : {"a b c", "a b", "a"}) tokenizer->encode(text, {.max_length = 5}, rows);
  EXPECT_THAT(rows.ids, ElementsAre(1, 8, 3, 4, 2, 1, 8, 3, 4, 2, 1, 8, 3, 2));
  EXPECT_THAT(rows.offsets, ElementsAre(0, 5, 10, 14));
  EXPECT_THAT(rows.lost_tokens, ElementsAre(1, 0, 0));
}

TEST_F(DocumentTokens, TheMarkerHasNoPlaceInTheText) {
  const auto tokenizer = load("[D]");
  TokenizedRows rows;
  tokenizer->encode("a", {}, rows);  // a row without offsets comes before
  std::vector<TokenOffset> offsets;
  tokenizer->encode_with_offsets("a b", {}, rows, offsets);
  EXPECT_THAT(rows.row(1), ElementsAre(1, 8, 3, 4, 2));
  EXPECT_THAT(offsets, ElementsAre(TokenOffset{}, TokenOffset{}, TokenOffset{0, 1},
                                   TokenOffset{2, 3}, TokenOffset{}));
}

TEST_F(DocumentTokens, AMarkerThatIsNotOneTokenIsRefused) {
  for (const char* marker : {"[D] ", "a b", "~", "\x1b[31m"}) {
    const ErrorDetail error = error_of([&] { load(marker); });
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_EQ(error.code.name(), "tokenizer.late_interaction");
    EXPECT_EQ(error.where, "MODEL");
    EXPECT_THAT(error.what, HasSubstr("document_prefix"));
  }
  EXPECT_EQ(error_of([&] { load("\x1b[31m"); }).found, R"('\x1b[31m')");
}

// PyLate would give the token a random vector.
TEST_F(DocumentTokens, AMarkerThatTheModelDoesNotHaveIsRefused) {
  vocab_size_ = 8;
  const ErrorDetail error = error_of([&] { load("[D]"); });
  EXPECT_EQ(error.code.name(), "tokenizer.late_interaction");
  EXPECT_EQ(error.expected, "an id of 0 to 7");
  EXPECT_EQ(error.found, "id 8 for '[D]'");
}

TEST_F(DocumentTokens, TheSkipListIsIdsInAscendingOrder) {
  const auto tokenizer = load("[D]");
  EXPECT_THAT(skip_list_ids({"", {"!", "."}, ""}, *tokenizer, "MODEL"), ElementsAre(6, 7));
  EXPECT_THAT(skip_list_ids({}, *tokenizer, "MODEL"), IsEmpty());
}

TEST_F(DocumentTokens, TheUnknownTokenTakesThePlaceOfASkipWordThatIsNoToken) {
  const auto tokenizer = load("[D]");
  EXPECT_THAT(skip_list_ids({"", {"~", "."}, "[UNK]"}, *tokenizer, "MODEL"), ElementsAre(0, 6));
  for (const char* unknown : {"", "<unk>"}) {
    const ErrorDetail error = error_of([&] {
      skip_list_ids({"", {"~", "."}, unknown}, *tokenizer, "MODEL");
    });
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_EQ(error.code.name(), "tokenizer.late_interaction");
    EXPECT_EQ(error.found, "'~'");
  }
}

}  // namespace
}  // namespace encode
