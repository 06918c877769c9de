#include "base/units.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace encode {
namespace {

TEST(FormatBytes, UsesDecimalUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.5 kB");
  EXPECT_EQ(format_bytes(293'000'000), "293.0 MB");
  EXPECT_EQ(format_bytes(999'960), "1.0 MB") << "not 1000.0 kB";
  EXPECT_EQ(format_bytes_of(293'000'000, 1'400'000'000), "0.3 GB");
  EXPECT_EQ(format_bytes_of(12, 512), "12 B");
}

TEST(ListInWords, HasAConjunctionBeforeTheLastWord) {
  EXPECT_EQ(list_in_words({}, "or"), "");
  EXPECT_EQ(list_in_words({"a"}, "or"), "a");
  EXPECT_EQ(list_in_words({"a", "b"}, "or"), "a or b");
  EXPECT_EQ(list_in_words({"a", "b", "c"}, "and"), "a, b and c");
}

TEST(ParseBytes, ReadsANumberWithAUnit) {
  EXPECT_EQ(parse_bytes("600MB"), 600'000'000);
  EXPECT_EQ(parse_bytes("1.5 GB"), 1'500'000'000);
  EXPECT_EQ(parse_bytes("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(parse_bytes("0.5KiB"), 512);
  EXPECT_EQ(parse_bytes("7B"), 7);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"", "600", "MB", "600 M", "600mb", "-1GB", "1e3MB", "nan GB", "inf GB",
                           "1  GB", "1GB ", "1GBs", "0x10MB", "9999999TB", "1,5GB"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(FormatCount, GroupsDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(50'621), "50,621");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
}

TEST(FormatCount, PutsOneThingInTheSingular) {
  EXPECT_EQ(format_count(1, "row", "rows"), "1 row");
  EXPECT_EQ(format_count(0, "row", "rows"), "0 rows");
  EXPECT_EQ(format_count(50'621, "row was", "rows were"), "50,621 rows were");
}

TEST(FormatDuration, KeepsTheTwoLargestUnits) {
  EXPECT_EQ(format_duration(0.416), "0.42 s");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(185.2), "3 m 05 s");
  EXPECT_EQ(format_duration(3600 * 2 + 7 * 60 + 59), "2 h 07 m");
}

TEST(FormatRate, Shortens) {
  EXPECT_EQ(format_rate(812.4), "812");
  EXPECT_EQ(format_rate(20'680), "20.7k");
  EXPECT_EQ(format_rate(1'234'567), "1.23M");
}

TEST(Nearest, FindsATypoAndNothingElse) {
  const std::array<std::string, 3> keys = {"chunk_size", "batch_size", "device"};
  EXPECT_EQ(nearest("chunksize", keys.data(), keys.size()), "chunk_size");
  EXPECT_EQ(nearest("bacth_size", keys.data(), keys.size()), "batch_size");
  EXPECT_EQ(nearest("pooling", keys.data(), keys.size()), "");
  const std::array<std::string, 2> words = {"run", "plan"};
  EXPECT_EQ(nearest("rnu", words.data(), words.size()), "run") << "two characters are swapped";
  const std::array<std::string, 2> keys_of_input = {"file", "field"};
  EXPECT_EQ(nearest("fiel", keys_of_input.data(), keys_of_input.size()), "field");
  EXPECT_EQ(nearest("flie", keys_of_input.data(), keys_of_input.size()), "file");
  EXPECT_EQ(nearest("nur", words.data(), words.size()), "");
  EXPECT_EQ(nearest("x", nullptr, 0), "");
}

// A number that is no candidate is no typo of a number that is one.
TEST(Nearest, TakesNoNumberForATypo) {
  const std::array<std::string, 3> columns = {"1", "12", "hello"};
  EXPECT_EQ(nearest("2", columns.data(), columns.size()), "");
  EXPECT_EQ(nearest("13", columns.data(), columns.size()), "");
  EXPECT_EQ(nearest("helo2", columns.data(), columns.size()), "");
  EXPECT_EQ(nearest("hello2", columns.data(), columns.size()), "hello");
}

TEST(Preview, KeepsTerminalsSafe) {
  EXPECT_EQ(preview("plain text"), "plain text");
  EXPECT_EQ(preview("a\x1b[31m\n"), "a\\x1b[31m\\x0a");
  EXPECT_EQ(preview("\xc3\xa9\xff"), "\\xc3\\xa9\\xff");
}

TEST(OneOf, NamesTheClosestOfALongList) {
  EXPECT_EQ(one_of({"b", "a"}, "x"), "one of: b, a");
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("a long name " + std::to_string(i));
  names.emplace_back("RTX 4090");
  const std::string text = one_of(names, "rtx 4080");
  EXPECT_EQ(text.find("one of: RTX 4090, "), 0U) << text;
  EXPECT_EQ(text.substr(text.size() - 14), " and 36 others");
  EXPECT_LE(text.size(), 200U);
}

TEST(LowerCase, ChangesOnlyAToZ) {
  EXPECT_EQ(lower_case("@AZ[`az{ 09 \xC3\x84"), "@az[`az{ 09 \xC3\x84");
}

TEST(Shorten, KeepsBothEnds) {
  EXPECT_EQ(shorten("notes.csv_body_model", 16), "notes.c..._model");
  EXPECT_EQ(shorten("notes.csv_body_model", 20), "notes.csv_body_model");
  EXPECT_EQ(shorten("abcdefgh", 7), "ab...gh");
}

TEST(Preview, CutsAndSaysSo) {
  EXPECT_EQ(preview("abcdef", 3), "abc... (6 bytes)");
  EXPECT_EQ(preview("abc", 3), "abc");
}

}  // namespace
}  // namespace encode
