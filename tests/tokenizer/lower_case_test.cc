// Tests do_lower_case of sentence_bert_config.json: a Lowercase before the normalizer of a
// tokenizer.json. The expected tokens are those of sentence-transformers 6.0.1 with tokenizers
// 0.23.3. Versions before 6 used str.lower() of Python, which differs in the final matrix sigma.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/tokenizer.h"

#include "base/refused.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using testing::refused;

// A word is one token. "Foo" is an added token that is searched for in normalized text, and "BarX"
// is an added token that is searched for in the text itself.
std::unique_ptr<Tokenizer> load(const std::string& normalizer, bool lower_case_first = true) {
  TokenizerSource source;
  source.folder = "MODEL";
  source.rules.lower_case_first = lower_case_first;
  source.files["tokenizer.json"] =
      R"({"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"paris":1,"Paris":2,)"
      R"("ασ":3,"ας":4,"i\u0307x":5,"foo":6,"PARIS":7}},"pre_tokenizer":{"type":"WhitespaceSplit"},)"
      R"("added_tokens":[{"id":8,"content":"Foo","special":false,"normalized":true,)"
      R"("single_word":false,"lstrip":false,"rstrip":false},{"id":9,"content":"BarX",)"
      R"("special":true,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false}],)"
      R"("normalizer":)" +
      normalizer + "}";
  return load_tokenizer_from(std::move(source));
}

std::vector<int32_t> ids(const Tokenizer& tokenizer, const std::string& text) {
  TokenizedRows rows;
  tokenizer.encode(text, {}, rows);
  return rows.ids;
}

const std::string kText = "PARIS Paris ΑΣ İx BarX FOO";

TEST(LowerCase, TextIsLowercasedBeforeTheNormalizer) {
  EXPECT_THAT(ids(*load("null", false), kText), ElementsAre(7, 2, 0, 0, 9, 0));
  EXPECT_THAT(ids(*load("null"), kText), ElementsAre(1, 1, 3, 5, 9, 8));
  for (const char* normalizer :
       {R"({"type":"NFC"})", R"({"type":"Sequence","normalizers":[{"type":"NFC"}]})",
        R"({"type":"Sequence","normalizers":[]})"}) {
    EXPECT_THAT(ids(*load(normalizer), kText), ElementsAre(1, 1, 3, 5, 9, 8)) << normalizer;
  }
}

// The Replace of the file comes before its Lowercase, so it still finds "PARIS".
TEST(LowerCase, ALowercaseOfTheFileStaysInItsPlace) {
  const std::string rest = R"({"type":"Replace","pattern":{"String":"PARIS"},"content":"foo"})";
  const std::string own =
      R"({"type":"Sequence","normalizers":[)" + rest + R"(,{"type":"Lowercase"}]})";
  EXPECT_THAT(ids(*load(own), "PARIS"), ElementsAre(8));
  EXPECT_THAT(ids(*load(R"({"type":"Sequence","normalizers":[)" + rest + "]}"), "PARIS"),
              ElementsAre(1));
}

TEST(LowerCase, ASentencepieceModelIsRefused) {
  TokenizerSource source;
  source.folder = "MODEL";
  source.rules.lower_case_first = true;
  source.files["spiece.model"] = "";
  EXPECT_EQ(refused([&] { load_tokenizer_from(std::move(source)); }).code.name(),
            "tokenizer.unsupported");
}

}  // namespace
}  // namespace encode
