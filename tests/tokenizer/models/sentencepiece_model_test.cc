// Tests the reading of .model files, and the decision which models need the sentencepiece library.
#include "tokenizer/models/sentencepiece_model.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"
#include "encode/tokenizer_file.h"

#include "support/temp_dir.h"
#include "tokenizer/models/sentencepiece_bpe.h"

namespace encode {
namespace {

using Type = SentencePieceModel::Type;

std::string family(const std::string& name) {
  return testing::read_bytes(testing::test_data("tokenizer/" + name + "/tokenizer.model"));
}

// Returns a field of a protobuf message. `bytes` must have fewer than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string flag(int number, bool value) {
  std::string key;
  for (int rest = number << 3; key.empty() || rest > 0; rest >>= 7)
    key.push_back(static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0)));
  return key + static_cast<char>(value ? 1 : 0);
}
std::string entry(const std::string& piece, Type type, const std::string& score = "") {
  const std::string number = score.empty() ? "" : "\x15" + score;
  return field(1, field(1, piece) + number + std::string{0x18, static_cast<char>(type)});
}
const std::string kBpeTrainer = field(2, {0x18, 2});
const std::string kSpacesOnly = field(3, flag(3, false) + flag(4, false));
const std::string kSmall = entry("<unk>", Type::kUnknown) + entry("a", Type::kNormal) +
                           entry("b", Type::kNormal) + entry("ab", Type::kNormal);

bool goes_without_library(const std::string& file) {
  const auto model = parse_sentencepiece_model(file);
  return model.has_value() && make_sentencepiece_bpe(*model, {}) != nullptr;
}

TEST(SentencePieceModelTest, ReadsWhatATrainerWrites) {
  const std::string file = family("mistral");
  const auto model = parse_sentencepiece_model(file);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->entries.size(), 1200U);
  EXPECT_EQ(model->entries[0].piece, "<unk>");
  EXPECT_EQ(model->entries[0].type, Type::kUnknown);
  EXPECT_EQ(model->entries[3].type, Type::kUserDefined);
  EXPECT_EQ(model->kind, SentencePieceModel::Kind::kBpe);
  EXPECT_TRUE(model->byte_fallback);
  EXPECT_TRUE(model->add_dummy_prefix);
  EXPECT_FALSE(model->remove_extra_whitespaces);
  EXPECT_EQ(model->charsmap, "");
}

TEST(SentencePieceModelTest, APieceOfAFileOrADamagedOneIsSafe) {
  const std::string file = family("mistral");
  for (size_t size = 0; size < file.size(); size += 101)
    static_cast<void>(goes_without_library(file.substr(0, size)));
  for (size_t i = 0; i < file.size(); i += 997) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    static_cast<void>(goes_without_library(damaged));
  }
  EXPECT_FALSE(parse_sentencepiece_model("").has_value());
  EXPECT_FALSE(parse_sentencepiece_model(std::string(20, '\xFF')).has_value());
  EXPECT_FALSE(parse_sentencepiece_model(kSmall + kBpeTrainer).has_value());
  EXPECT_FALSE(
      parse_sentencepiece_model(kSmall + kBpeTrainer + kBpeTrainer + kSpacesOnly).has_value());
  EXPECT_FALSE(parse_sentencepiece_model(kSmall +
                                         entry("c", Type::kNormal, std::string("\0\0\xC0\x7F", 4)) +
                                         kBpeTrainer + kSpacesOnly)  // the score is NaN
                   .has_value());
}

TEST(SentencePieceModelTest, OnlyModelsThatAreKnownToBeTheSameGoWithoutTheLibrary) {
  EXPECT_TRUE(goes_without_library(family("mistral")));
  EXPECT_FALSE(goes_without_library(family("sentencepiece_bpe")));  // has a charsmap
  EXPECT_FALSE(goes_without_library(family("sentencepiece_unigram")));

  const std::string rest = kBpeTrainer + kSpacesOnly;
  EXPECT_TRUE(goes_without_library(kSmall + rest));
  const std::string others[] = {
      kSmall + field(2, {0x18, 1}) + kSpacesOnly,                        // a Unigram model
      kSmall + kBpeTrainer + field(3, flag(4, true)),                    // removes spaces
      kSmall + kBpeTrainer + field(3, flag(4, false) + flag(5, false)),  // does not escape spaces
      kSmall + field(2, std::string{0x18, 2} + flag(24, true)) + kSpacesOnly,  // space as suffix
      kSmall + field(2, std::string{0x18, 2} + flag(35, true)) + kSpacesOnly,  // no byte pieces
      kSmall + entry("c", Type::kUnused) + rest,
      kSmall + entry("c", Type::kControl) + rest,
      kSmall + entry("ac", Type::kNormal) + rest,  // there is no piece "c"
      kSmall + entry("a", Type::kNormal) + rest,   // there are two pieces "a"
      kSmall + entry("\xFF", Type::kNormal) + rest};
  for (const std::string& other : others) EXPECT_FALSE(goes_without_library(other));
}

// If the sentencepiece library makes the ids, the description must state its version, because other
// versions may give other ids.
TEST(SentencePieceModelTest, TheDescriptionNamesTheVersionOfTheLibraryThatMakesTheIds) {
  const auto description = [](const char* name) {
    return load_tokenizer(testing::test_data(std::string("tokenizer/") + name + "/tokenizer.model"))
        ->description();
  };
  EXPECT_THAT(sentencepiece_version(), ::testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_EQ(description("sentencepiece_unigram"),
            "sentencepiece " + sentencepiece_version() + ", 1200 tokens");
  EXPECT_EQ(description("mistral"), "sentencepiece BPE, 1200 tokens");
}

TEST(SentencePieceModelTest, TheFileOfADirectoryIsTokenizerJsonBeforeAnySentencepieceModel) {
  TokenizerSource source;
  EXPECT_EQ(tokenizer_file_of(source), "");
  source.files["spm.model"] = "";
  EXPECT_EQ(tokenizer_file_of(source), "spm.model");
  EXPECT_TRUE(is_sentencepiece_file("spm.model"));
  source.files["tokenizer.json"] = "";
  EXPECT_EQ(tokenizer_file_of(source), "tokenizer.json");
  EXPECT_FALSE(is_sentencepiece_file("tokenizer.json"));
}

TEST(SentencePieceModelTest, OfPairsWithEqualScoresTheLeftmostIsMerged) {
  const std::string score("\0\0\0\0", 4);
  const std::string file = entry("<unk>", Type::kUnknown) + entry("a", Type::kNormal) +
                           entry("b", Type::kNormal) + entry("c", Type::kNormal) +
                           entry("bc", Type::kNormal, score) + entry("ab", Type::kNormal, score) +
                           kBpeTrainer + kSpacesOnly;
  const auto model = parse_sentencepiece_model(file);
  ASSERT_TRUE(model.has_value());
  TokenizedRows rows;
  make_sentencepiece_bpe(*model, {})->encode("abc", {}, rows);
  EXPECT_EQ(rows.ids, (std::vector<int32_t>{5, 3}));
}

TEST(SentencePieceModelTest, AVeryLongPieceIsRefusedBeforeTheLibrarySeesIt) {
  const size_t size = size_t{1} << 20;
  const auto varint = [](size_t value) {
    std::string bytes;
    for (; value > 0x7F; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    return bytes + static_cast<char>(value);
  };
  const std::string piece = "\x0A" + varint(size) + std::string(size, 'a');
  const std::string file =
      kSmall + "\x0A" + varint(piece.size()) + piece + field(2, {0x18, 1}) + kSpacesOnly;
  const testing::TempDir dir;
  const std::string path = dir.write("tokenizer.model", file);
  try {
    load_tokenizer(path);
    FAIL() << "was loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "tokenizer.format");
    EXPECT_EQ(error.detail().found, "1048576 bytes");
  }
}

}  // namespace
}  // namespace encode
