// Tests how standard input is copied, and how its format is guessed.
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/refused.h"
#include "base/standard_input_name.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes `path` the standard input until the end of a scope.
class StandardInputFrom {
 public:
  explicit StandardInputFrom(const std::string& path) : saved_(::dup(STDIN_FILENO)) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(fd.get(), STDIN_FILENO);
  }
  StandardInputFrom(const StandardInputFrom&) = delete;
  StandardInputFrom& operator=(const StandardInputFrom&) = delete;
  ~StandardInputFrom() { ::dup2(saved_.get(), STDIN_FILENO); }

 private:
  UniqueFd saved_;
};

class StandardInput : public ::testing::Test {
 protected:
  SpooledInput spool(std::string_view bytes, const std::string& field = "",
                     TextFormat format = TextFormat::kAuto) {
    const StandardInputFrom standard_input(dir_.write("in", bytes));
    InputOptions options;
    options.path = "-";
    options.field = field;
    options.format = format;
    return spool_standard_input(options, dir_.file("s.stdin"));
  }
  TextFormat format_of(std::string_view bytes, const std::string& field = "") {
    return spool(bytes, field).options.format;
  }
  std::vector<std::string> texts(std::string_view bytes, const std::string& field = "") {
    return texts_of(spool(bytes, field).options);
  }
  ErrorDetail refusal(std::string_view bytes, const std::string& field = "") {
    return refused([&] { spool(bytes, field); });
  }
  TempDir dir_;
};

TEST_F(StandardInput, IsSpooledAndReadTwice) {
  const SpooledInput spooled = spool("a\nb\n", "", TextFormat::kLines);
  EXPECT_EQ(spooled.guess, "");
  EXPECT_EQ(scan_texts(spooled.options, {}).rows, 2);
  EXPECT_THAT(texts_of(spooled.options), ElementsAre("a", "b"));
}

TEST_F(StandardInput, OfLinesIsAGuessThatIsSaid) {
  for (const char* lines :
       {"a\nb\n", "", "\n\n", "[INFO] started\n", "[\"a\" said]\nb\n", "{curly} text\n", "7\n",
        "\"quoted\"\n", "PARIS\n", "a, b\nc\n", "id,text\n1,\"a\n", "[\n", "Hello, world\n"}) {
    const SpooledInput spooled = spool(lines);
    EXPECT_EQ(spooled.options.format, TextFormat::kLines) << lines;
    EXPECT_FALSE(spooled.ambiguous) << lines;
    EXPECT_THAT(spooled.guess, HasSubstr("standard input is read as lines"));
    EXPECT_THAT(spooled.guess, HasSubstr("--format sets another format"));
  }
  EXPECT_THAT(texts("a\nb\n"), ElementsAre("a", "b"));
}

TEST_F(StandardInput, ThatMayBeATableIsReadAsLinesWithAWarning) {
  for (const char* table :
       {"id,text\n1,a\n", "id\ttext\n1\ta\n", "well, yes\nno, never\n", "id;text\n1;a\n",
        "id|text\n1|a\n", "id,text\n1,\"a, b, c\"\n", "\"i,d\",text\n1,\"a \"\"b,\"\"\nc\"\n"}) {
    const SpooledInput spooled = spool(table);
    EXPECT_EQ(spooled.options.format, TextFormat::kLines) << table;
    EXPECT_TRUE(spooled.ambiguous) << table;
    EXPECT_THAT(spooled.guess, HasSubstr("may also be CSV or TSV"));
  }
}

TEST_F(StandardInput, OfJsonIsKnownByItsFirstCharacter) {
  EXPECT_THAT(texts("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "text"), ElementsAre("a", "b"));
  EXPECT_THAT(texts(" \n[{\"text\":\"a\"},\n{\"text\":\"b\"}]\n", "text"), ElementsAre("a", "b"));
  EXPECT_THAT(texts("\xEF\xBB\xBF[{\"text\":\"a\"}]", "text"), ElementsAre("a"));
  EXPECT_THAT(texts("[\"a\",\n \"b\"]"), ElementsAre("a", "b"));
  EXPECT_EQ(format_of("[[1,2],[3]]"), TextFormat::kJson);
  EXPECT_EQ(format_of("[]"), TextFormat::kJson);
  EXPECT_THAT(texts("[\"a\",\"b\"]\n[\"c\",\"d\"]\n", "/1"), ElementsAre("b", "d"))
      << "a whole array on each line";
  EXPECT_THAT(texts("[[\"a\",\"b\"],\n[\"c\",\"d\"]]\n", "/1"), ElementsAre("b", "d"));
}

// The first 64 KiB end inside a row.
TEST_F(StandardInput, OfLongRowsIsKnownByItsBeginning) {
  const std::string text(200'000, 'x');
  EXPECT_EQ(format_of("[\"" + text + "\"]"), TextFormat::kJson);
  EXPECT_EQ(format_of("[{\"text\":\"" + text + "\"}]", "text"), TextFormat::kJson);
  EXPECT_EQ(format_of("{\"text\":\"" + text + "\"}\n", "text"), TextFormat::kJsonl);
  EXPECT_EQ(format_of("[x" + text), TextFormat::kLines);
  std::string many = "[";
  for (int i = 0; i < 40'000; ++i) many += "\"\xC3\xA9\",";
  EXPECT_EQ(format_of(many + "true]"), TextFormat::kJson);
}

TEST_F(StandardInput, OfObjectsNeedsAField) {
  for (const char* json : {"{\"text\":\"a\"}\n", "[{\"text\":\"a\"}]", "{\n\"text\": 1}"}) {
    const ErrorDetail error = refusal(json);
    EXPECT_EQ(error.code.name(), "text.format") << json;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_EQ(error.expected, "a field that holds the text of each JSON object");
    EXPECT_THAT(error.hint, HasSubstr("--field"));
  }
  for (const char* json : {"{\"id\":1,\"text\":\"a\"}\n", "[{\"id\":1,\"text\":\"a\"}]"}) {
    EXPECT_THAT(refusal(json).hint, HasSubstr("the first object has: id, text")) << json;
  }
}

TEST_F(StandardInput, OfATableIsKnownByAHeaderWithTheField) {
  EXPECT_THAT(texts("id,text\n1,a\n2,\"b,c\"\n", "text"), ElementsAre("a", "b,c"));
  EXPECT_THAT(texts("\xEF\xBB\xBFid,\"te\"\"xt\"\r\n1,a\r\n", "te\"xt"), ElementsAre("a"));
  EXPECT_THAT(texts("id\ttext\n1\ta, b\n", "text"), ElementsAre("a, b"));
  EXPECT_THAT(texts("id;text\n1;a, b\n", "text"), ElementsAre("a, b"));
  EXPECT_THAT(texts("id|text\n1|a, b\n", "text"), ElementsAre("a, b"));
  EXPECT_EQ(format_of("id\ttext\n1\ta\n", "text"), TextFormat::kTsv);
  for (const char* unclear : {"id,body\n1,a\n", "text\nHello, world\n", "some text\n",
                              "id;body\n1;a\n", "id,\"text\n1,a\n"}) {
    const ErrorDetail error = refusal(unclear, "text");
    EXPECT_EQ(error.code.name(), "text.format") << unclear;
    EXPECT_THAT(error.hint, HasSubstr("set --format"));
  }
}

TEST_F(StandardInput, ThatIsEmptyIsSaidToBe) {
  for (const TextFormat format : {TextFormat::kAuto, TextFormat::kCsv, TextFormat::kJson}) {
    const ErrorDetail error = refused([&] { spool("", "text", format); });
    EXPECT_EQ(error.what, "standard input is empty");
    EXPECT_EQ(error.where, "standard input");
    EXPECT_THAT(error.hint, HasSubstr("the command in front of the pipe printed nothing"));
    EXPECT_FALSE(std::filesystem::exists(dir_.file("s.stdin")));
  }
  EXPECT_EQ(scan_texts(spool("", "text", TextFormat::kJsonl).options, {}).rows, 0);
  EXPECT_EQ(refusal(" \n", "text").found, "only white space");
  EXPECT_EQ(refusal("some text\n", "text").found, "'some text'");
}

TEST_F(StandardInput, IsNamedInPlaceOfItsCopy) {
  const auto where = [](TextFormat format, const std::string& place) {
    InputOptions copy;
    copy.path = "c/s.stdin";
    copy.format = format;
    const Error error({.code = "text.utf8", .what = "x", .where = place, .hint = "y"});
    return naming_standard_input(error, copy).detail();
  };
  EXPECT_EQ(where(TextFormat::kJsonl, "c/s.stdin:2").where, "standard input, line 2");
  EXPECT_EQ(where(TextFormat::kJson, "c/s.stdin:2").where, "standard input, element 2");
  EXPECT_EQ(where(TextFormat::kParquet, "c/s.stdin:2").where, "standard input, row 2");
  EXPECT_EQ(where(TextFormat::kLines, "c/s.stdin").where, "standard input");
  EXPECT_EQ(where(TextFormat::kLines, "c/s.stdin").hint, "y; c/s.stdin is a copy of the input");
  EXPECT_EQ(where(TextFormat::kLines, "c/other:2").where, "c/other:2");
  EXPECT_EQ(where(TextFormat::kLines, "c/other:2").hint, "y");
}

TEST_F(StandardInput, OfAnotherProgramIsRefusedByItsFirstBytes) {
  const ErrorDetail error = refusal("PK\x03\x04" + std::string(26, '\0') + "xl/workbook.xml");
  EXPECT_EQ(error.code.name(), "text.encoding");
  EXPECT_EQ(error.where, "standard input");
  EXPECT_THAT(error.found, HasSubstr("an Excel workbook"));
}

TEST_F(StandardInput, MayBeCompressed) {
  for (const auto& compress : {gzip, zstd}) {
    EXPECT_THAT(texts(compress("a\nb\n")), ElementsAre("a", "b"));
    EXPECT_THAT(texts(compress("id,text\n1,a\n"), "text"), ElementsAre("a"));
    EXPECT_THAT(texts_of(spool(compress("[\"a\"]"), "", TextFormat::kJson).options),
                ElementsAre("a"));
  }
  EXPECT_EQ(refusal(gzip(std::string(100'000, 'x')).substr(0, 40)).code.name(), "gzip.truncated");
}

TEST_F(StandardInput, OfColumnarFilesIsKnownByTheirFirstBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(format_of("PAR1\x15\x04"s, "text"), TextFormat::kParquet);
  EXPECT_EQ(format_of("ARROW1\0\0"s, "text"), TextFormat::kArrow);
  EXPECT_EQ(format_of("ARROW1 is a text\n"), TextFormat::kLines);
  EXPECT_EQ(format_of("\xFF\xFF\xFF\xFF\x10\0\0\0"s, "text"), TextFormat::kArrow);
}

TEST_F(StandardInput, ThatCannotBeReadLeavesNoCopy) {
  const StandardInputFrom directory(dir_.path());  // reading a directory fails with EISDIR
  InputOptions options;
  options.path = "-";
  options.format = TextFormat::kLines;
  EXPECT_THROW(spool_standard_input(options, dir_.file("s.stdin")), Error);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("s.stdin")));
}

}  // namespace
}  // namespace encode::testing
