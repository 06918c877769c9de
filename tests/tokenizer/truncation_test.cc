// Tests that truncation keeps the side of a text that the files of a tokenizer state.
// scripts/reference/tokenizer_cases.py has recorded the ids and offsets of transformers.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "golden_cases.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::tokenizer_data;

using Ids = std::vector<int32_t>;

// Writes the tokenizer of a recorded item into `dir`, with the sides that the item states.
void write_tokenizer(const Json& item, const testing::TempDir& dir) {
  const std::string source = tokenizer_data(item["family"].get<std::string>());
  Json tokenizer = Json::parse(testing::read_bytes(source + "/tokenizer.json"));
  tokenizer["truncation"] = nullptr;
  if (item.contains("direction"))
    tokenizer["truncation"] = {{"direction", item["direction"]}, {"max_length", 16}};
  Json config = Json::object();
  if (item.contains("side")) config["truncation_side"] = item["side"];
  dir.write("tokenizer.json", tokenizer.dump());
  dir.write("tokenizer_config.json", config.dump());
}

std::vector<int32_t> flat(const std::vector<TokenOffset>& offsets) {
  std::vector<int32_t> numbers;
  for (const TokenOffset& offset : offsets) {
    numbers.push_back(offset.begin);
    numbers.push_back(offset.end);
  }
  return numbers;
}

void expect_recorded_rows(const Tokenizer& tokenizer, const Json& item) {
  for (const Json& expected : item["cases"]) {
    SCOPED_TRACE(expected["text"].dump() + " cut to " + expected["max_length"].dump());
    const auto text = expected["text"].get<std::string>();
    const TokenizeOptions options{.max_length = expected["max_length"].get<int64_t>()};
    TokenizedRows rows;
    std::vector<TokenOffset> offsets;
    tokenizer.encode_with_offsets(text, options, rows, offsets);
    EXPECT_EQ(flat(offsets), expected["offsets"].get<Ids>());
    tokenizer.encode(text, options, rows);
    for (int64_t row = 0; row < rows.size(); ++row) {
      const auto ids = rows.row(row);
      EXPECT_EQ(Ids(ids.begin(), ids.end()), expected["ids"].get<Ids>());
    }
  }
}

TEST(TruncationTest, EverySideGivesTheRowsOfTransformers) {
  size_t refused = 0;
  size_t left = 0;
  for (const Json& item : testing::read_cases("truncation.jsonl")) {
    Json name = item;
    name.erase("cases");
    SCOPED_TRACE(name.dump());
    const testing::TempDir dir;
    write_tokenizer(item, dir);
    if (item.contains("refused")) {
      ++refused;
      EXPECT_THROW(load_tokenizer_from_directory(dir.path()), Error);
    } else {
      left += item.value("side", Json(nullptr)) == "left" ? 1 : 0;
      expect_recorded_rows(*load_tokenizer_from_directory(dir.path()), item);
    }
  }
  EXPECT_GT(refused, 10U);
  EXPECT_GT(left, 10U);
}

ErrorDetail refusal_of(const Json& item) {
  const testing::TempDir dir;
  write_tokenizer(item, dir);
  try {
    load_tokenizer_from_directory(dir.path());
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    detail.where.erase(0, dir.path().size());
    return detail;
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(TruncationTest, AnUnknownSideIsNamed) {
  ErrorDetail error = refusal_of({{"family", "gpt2"}, {"side", "middle\x1b"}});
  EXPECT_EQ(error.code.name(), "tokenizer.format");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.what, "bad value for 'truncation_side'");
  EXPECT_EQ(error.where, "/tokenizer_config.json");
  EXPECT_EQ(error.expected, R"("left" or "right")");
  EXPECT_EQ(error.found, R"("middle\u001b")");
  error = refusal_of({{"family", "gpt2"}, {"direction", "Up"}, {"side", "right"}});
  EXPECT_EQ(error.what, "bad value for 'direction'");
  EXPECT_EQ(error.where, "/tokenizer.json: truncation");
  EXPECT_EQ(error.expected, R"("Left" or "Right")");
  EXPECT_EQ(error.found, R"("Up")");
}

}  // namespace
}  // namespace encode
