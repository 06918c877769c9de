// Tests the names that a run gets if the user gives none: of its stream and its cache directory.
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::vector<std::string> names(const RunConfig& run) {
  std::vector<std::string> all;
  for (const StreamConfig& stream : run.streams) all.push_back(stream.name());
  return all;
}

TEST(Names, ACacheDirectoryOfAnEarlierVersionStaysInUse) {
  const TempDir dir;
  const std::string output = dir.file("x.npy");
  const auto cache_dir = [&] {
    return load_config("", {{"semantic.model", "m", "--model"},
                            {"input.file", "a.txt", "--input"},
                            {"output.file", output, "--output"}})
        .run.store.cache_dir;
  };
  EXPECT_EQ(cache_dir(), dir.file(".x.npy.cache"));
  dir.write("x.npy.cache/notes", "");
  EXPECT_EQ(cache_dir(), dir.file(".x.npy.cache")) << "another directory of this name";
  dir.write("x.npy.cache/LOCK", "{}");
  EXPECT_EQ(cache_dir(), dir.file("x.npy.cache"));
  dir.write(".x.npy.cache/LOCK", "{}");
  EXPECT_EQ(cache_dir(), dir.file(".x.npy.cache"));
}

TEST(Names, WithoutOutputFileTheStreamOfAConfigIsCalledEmbeddings) {
  const TempDir dir;
  EXPECT_EQ(
      names(load_config(dir.write("run.yaml", "semantic: {model: m}\ninput: {file: a.txt}\n"), {})
                .run),
      std::vector<std::string>{"embeddings"});
}

TEST(Names, WithoutOutputFileFlagsNameTheStreamByInputFieldAndModel) {
  const auto name = [](const std::string& input, const std::string& field,
                       const std::string& model) {
    return names(load_config("", {{"semantic.model", model, "--model"},
                                  {"input.file", input, "--input"},
                                  {"input.format", "csv", "--format"},
                                  {"input.field", field, "--field"}})
                     .run)
        .front();
  };
  EXPECT_EQ(name("data/a.csv", "text", "org/m-1"), "data_a.csv_text_org_m-1");
  EXPECT_EQ(name("./data//a.csv", "text", "org/m-1"), name("data/a.csv", "text", "org/m-1"));
  EXPECT_EQ(name("-", "text", "m"), "stdin_text_m");
  EXPECT_EQ(name("/data/a.csv", "/doc/body", "m"), "data_a.csv_doc_body_m");
  std::set<std::string> all;
  const std::vector<std::array<std::string, 3>> runs = {
      {"a.csv", "t", "m"},
      {"b.csv", "t", "m"},
      {"x/a.csv", "t", "m"},
      {"a.csv", "u", "m"},
      {"a.csv", "t", "n"},
      {"a.csv", "t", "org/m"},
      {"../a.csv", "t", "m"},
      {"part-*.csv", "t", "m"},
      {"part-?.csv", "t", "m"},
      {"\u8bad\u7ec3.csv", "t", "m"},
      {"\u6d4b\u8bd5.csv", "t", "m"},
      {std::string(300, 'a') + "/x.csv", "t", "m"},
      {std::string(301, 'a') + "/x.csv", "t", "m"},
      {".csv", "..", "."},
      {"***", "/", "___"}};
  for (const auto& [input, field, model] : runs) {
    const std::string made = name(input, field, model);
    EXPECT_TRUE(all.insert(made).second) << made << " of " << input;
    EXPECT_LE(made.size(), 160U);
    EXPECT_NE(std::isalnum(static_cast<unsigned char>(made.front())), 0) << made;
    EXPECT_EQ(
        made.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-"),
        std::string::npos)
        << made;
  }
}

}  // namespace
}  // namespace encode::testing
