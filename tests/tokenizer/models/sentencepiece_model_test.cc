// Tests the reading of .model files.
#include "tokenizer/models/sentencepiece_model.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"
#include "encode/tokenizer_file.h"

#include "support/temp_dir.h"

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
std::string entry(const std::string& piece, Type type, const std::string& score = "") {
  const std::string number = score.empty() ? "" : "\x15" + score;
  return field(1, field(1, piece) + number + std::string{0x18, static_cast<char>(type)});
}
const std::string kBpeTrainer = field(2, {0x18, 2});
const std::string kNormalizer = field(3, "");
const std::string kSmall = entry("<unk>", Type::kUnknown) + entry("a", Type::kNormal) +
                           entry("b", Type::kNormal) + entry("ab", Type::kNormal);

TEST(SentencePieceModelTest, ReadsWhatATrainerWrites) {
  const std::string file = family("mistral");
  const auto model = parse_sentencepiece_model(file);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->entries.size(), 1200U);
  EXPECT_EQ(model->entries[0].piece, "<unk>");
  EXPECT_EQ(model->entries[0].type, Type::kUnknown);
  EXPECT_EQ(model->entries[3].type, Type::kUserDefined);
  EXPECT_EQ(model->kind, SentencePieceModel::Kind::kBpe);
  EXPECT_EQ(model->charsmap, "");
}

TEST(SentencePieceModelTest, APieceOfAFileOrADamagedOneIsSafe) {
  const std::string file = family("mistral");
  for (size_t size = 0; size < file.size(); size += 101)
    static_cast<void>(parse_sentencepiece_model(file.substr(0, size)));
  for (size_t i = 0; i < file.size(); i += 997) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    static_cast<void>(parse_sentencepiece_model(damaged));
  }
  EXPECT_FALSE(parse_sentencepiece_model("").has_value());
  EXPECT_FALSE(parse_sentencepiece_model(std::string(20, '\xFF')).has_value());
  EXPECT_FALSE(parse_sentencepiece_model(kSmall + kBpeTrainer).has_value());
  EXPECT_FALSE(
      parse_sentencepiece_model(kSmall + kBpeTrainer + kBpeTrainer + kNormalizer).has_value());
  EXPECT_FALSE(parse_sentencepiece_model(kSmall +
                                         entry("c", Type::kNormal, std::string("\0\0\xC0\x7F", 4)) +
                                         kBpeTrainer + kNormalizer)  // the score is NaN
                   .has_value());
}

// Other versions of the sentencepiece library may give other ids.
TEST(SentencePieceModelTest, TheDescriptionNamesTheVersionOfTheLibrary) {
  EXPECT_THAT(sentencepiece_version(), ::testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_EQ(load_tokenizer(testing::test_data("tokenizer/mistral/tokenizer.model"))->description(),
            "sentencepiece " + sentencepiece_version() + ", 1200 tokens");
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

TEST(SentencePieceModelTest, AVeryLongPieceIsRefusedBeforeTheLibrarySeesIt) {
  const size_t size = size_t{1} << 20;
  const auto varint = [](size_t value) {
    std::string bytes;
    for (; value > 0x7F; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    return bytes + static_cast<char>(value);
  };
  const std::string piece = "\x0A" + varint(size) + std::string(size, 'a');
  const std::string file =
      kSmall + "\x0A" + varint(piece.size()) + piece + field(2, {0x18, 1}) + kNormalizer;
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
