// Tests the whole text of the errors for a tokenizer.json, because it must say what to correct.
#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "support/temp_dir.h"

namespace encode {
namespace {

// Returns the error of a tokenizer.json with "FILE" in place of its path.
std::string message_for(const std::string& content) {
  const testing::TempDir dir;
  const std::string file = dir.write("tokenizer.json", content);
  try {
    load_tokenizer(file);
  } catch (const Error& error) {
    std::string text = error.what();
    for (size_t at = text.find(file); at != std::string::npos; at = text.find(file))
      text.replace(at, file.size(), "FILE");
    return text;
  }
  return "no error";
}

std::string with_regex(const std::string& regex) {
  return R"({"model":{"type":"WordLevel","vocab":{"?":0},"unk_token":"?"},"pre_tokenizer":{"type":)"
         R"("Split","behavior":"Isolated","invert":false,"pattern":{"Regex":")" +
         regex + R"("}}})";
}

const std::string kFormatHint =
    "  hint      correct the file, or choose another model; if it was copied or downloaded, "
    "compare it with the original";

TEST(TokenizerMessages, AFileThatIsNotJson) {
  EXPECT_EQ(message_for(R"({"model":NaN})"),
            "error[tokenizer.format]: malformed JSON\n"
            "  where     FILE\n"
            "  expected  JSON (RFC 8259)\n"
            "  found     NaN, which JSON does not have, at byte 9\n" +
                kFormatHint);
}

TEST(TokenizerMessages, ValidJsonOfAnotherShapeNamesTheKey) {
  EXPECT_EQ(message_for(R"({"model":{"type":"BPE","vocab":[1],"merges":[]}})"),
            "error[tokenizer.format]: a value has another type than in a tokenizer.json\n"
            "  where     FILE: model.vocab\n"
            "  expected  the type that Hugging Face tokenizers writes\n"
            "  found     another type\n" +
                kFormatHint);
  EXPECT_EQ(message_for(R"({"model":5})"),
            "error[tokenizer.format]: a value has another type than in a tokenizer.json\n"
            "  where     FILE: model\n"
            "  expected  the type that Hugging Face tokenizers writes\n"
            "  found     another type\n" +
                kFormatHint);
  EXPECT_EQ(message_for(R"({"model":{"type":"BPE","vocab":{"a":"0"},"merges":[]}})"),
            "error[tokenizer.format]: bad entry of the vocabulary\n"
            "  where     FILE: model.vocab\n"
            "  expected  an integer\n"
            "  found     \"0\" for 'a'\n" +
                kFormatHint);
}

TEST(TokenizerMessages, APatternThatIsNotSupportedSaysWhere) {
  EXPECT_EQ(message_for(with_regex("a[bc]\\\\b")),
            "error[tokenizer.unsupported]: regular expression 'a[bc]\\b' is not supported: \\b at "
            "offset 5\n"
            "  where     FILE: pre_tokenizer.Split.pattern\n"
            "  expected  a regular expression in the syntax that encode supports\n"
            "  found     \\b\n"
            "  hint      choose another model: encode would make other tokens than in training");
}

// \\s is longer in the translation for PCRE2, so the offset in the translation would differ.
TEST(TokenizerMessages, AMalformedPatternSaysWhere) {
  EXPECT_EQ(message_for(with_regex("\\\\s+(a|b")),
            "error[tokenizer.format]: malformed regular expression\n"
            "  where     FILE: pre_tokenizer.Split.pattern\n"
            "  expected  a regular expression\n"
            "  found     '\\s+(a|b': missing closing parenthesis at offset 7\n" +
                kFormatHint);
  EXPECT_EQ(message_for(with_regex("\\\\s+[z-a]b")),
            "error[tokenizer.format]: malformed regular expression\n"
            "  where     FILE: pre_tokenizer.Split.pattern\n"
            "  expected  a regular expression\n"
            "  found     '\\s+[z-a]b': range out of order in character class at offset 6\n" +
                kFormatHint);
}

}  // namespace
}  // namespace encode
