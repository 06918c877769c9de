#include "base/input_format.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

InputFormat of(const std::string& path, TextFormat format = TextFormat::kAuto) {
  InputOptions options;
  options.path = path;
  options.format = format;
  return input_format(options);
}

// A format that a file name cannot state, or that a message cannot name, is of no use.
TEST(InputFormats, AreStatedByTheirSuffixes) {
  for (const auto& [name, format] : kTextFormats) {
    const FormatFacts facts = facts_of(format);
    EXPECT_EQ(facts.name, name);
    if (format == TextFormat::kAuto) continue;
    EXPECT_FALSE(facts.title.empty()) << name;
    EXPECT_FALSE(facts.suffixes.front().empty()) << name;
    EXPECT_EQ(facts.columnar, !facts.blocks.empty()) << name;
    for (const std::string_view suffix : facts.suffixes) {
      if (suffix.empty()) continue;
      const std::string path = "a.b/c" + std::string(suffix);
      EXPECT_EQ(of(path).format, format) << path;
      EXPECT_EQ(of(path).compression, Compression::kNone) << path;
      EXPECT_EQ(of(path + ".GZ").format, format) << path;
      EXPECT_EQ(of(path + ".GZ").compression, Compression::kGzip) << path;
    }
  }
  EXPECT_EQ(of("A.NDJSON.zst").format, TextFormat::kJsonl);
  EXPECT_EQ(of("a.csv.zst", TextFormat::kTsv).format, TextFormat::kTsv);
  for (const char* other : {"-", "", "a", "a.xml", ".txt", "a.zst", "a.txt/b", "a.jsonlgz"})
    EXPECT_EQ(of(other).format, TextFormat::kAuto) << other;
}

// No two formats may begin with the same bytes.
TEST(InputFormats, AreToldApartByTheirFirstBytes) {
  std::vector<std::string_view> starts;
  for (const auto& [name, format] : kTextFormats) {
    for (const std::string_view magic : {facts_of(format).magic, facts_of(format).stream_magic})
      if (!magic.empty()) starts.push_back(magic);
  }
  for (const CompressionFacts& facts : kCompressions) starts.push_back(facts.magic);
  for (size_t i = 0; i < starts.size(); ++i) {
    for (size_t j = 0; j < starts.size(); ++j)
      EXPECT_TRUE(i == j || !starts[i].starts_with(starts[j])) << i << " " << j;
  }
}

TEST(InputFormats, AreListedInMessages) {
  EXPECT_EQ(text_suffixes(), ".txt, .jsonl, .ndjson, .json, .csv or .tsv");
  EXPECT_EQ(columnar_suffixes(), ".parquet or .arrow");
  EXPECT_EQ(compression_suffixes(), ".gz or .zst");
  EXPECT_EQ(text_titles(), "txt, JSONL, JSON, CSV, TSV");
  EXPECT_EQ(columnar_titles(), "Parquet or Arrow");
  EXPECT_EQ(column_titles(), "CSV, TSV, Parquet, Arrow");
  EXPECT_EQ(fieldless_names(), "lines");
  EXPECT_EQ(text_fields_names(), "jsonl, json, csv or tsv");
  EXPECT_EQ(format_hint(),
            "give its format: --format lines|jsonl|json|csv|tsv|parquet|arrow, or format: in the "
            "config");
}

TEST(InputFormats, StandInTheDocuments) {
  const std::string page = testing::read_bytes(testing::source_file("docs/inputs.md"));
  for (const auto& [name, format] : kTextFormats) {
    if (format == TextFormat::kAuto) continue;
    EXPECT_THAT(page, HasSubstr("`" + std::string(name) + "`"));
    for (const std::string_view suffix : facts_of(format).suffixes)
      EXPECT_THAT(page, HasSubstr(std::string(suffix)));
  }
}

}  // namespace
}  // namespace encode
