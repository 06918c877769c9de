// Tests that encode and encode-worker of different builds do not take each other's messages.
#include "protocol/same_build.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/refused.h"
#include "protocol/json_fields.h"

namespace encode {
namespace {

enum class Color { kRed };
enum class MoreColors { kRed, kBlue };
constexpr auto names(Color /*tag*/) { return NameTable<Color, 1>{{{"red", Color::kRed}}}; }
constexpr auto names(MoreColors /*tag*/) {
  return NameTable<MoreColors, 2>{{{"red", MoreColors::kRed}, {"blue", MoreColors::kBlue}}};
}

struct Item {
  int64_t rows = 0;
  Color color = Color::kRed;
};
struct Renamed {
  int64_t count = 0;
  Color color = Color::kRed;
};
struct Retyped {
  double rows = 0;
  Color color = Color::kRed;
};
struct Extended {
  int64_t rows = 0;
  Color color = Color::kRed;
  bool last = false;
};
struct Recolored {
  int64_t rows = 0;
  MoreColors color = MoreColors::kRed;
};
ENCODE_FIELDS(Item, rows, color)
ENCODE_FIELDS(Renamed, count, color)
ENCODE_FIELDS(Retyped, rows, color)
ENCODE_FIELDS(Extended, rows, color, last)
ENCODE_FIELDS(Recolored, rows, color)

template <typename T>
std::string schema() {
  return SchemaWriter::schema(T{});
}

TEST(SameBuild, EveryChangeOfAFieldChangesTheSchemaAtEveryDepth) {
  const std::vector<std::string> schemas = {schema<Item>(),
                                            schema<Renamed>(),
                                            schema<Retyped>(),
                                            schema<Extended>(),
                                            schema<Recolored>(),
                                            schema<std::vector<Item>>(),
                                            schema<std::optional<Item>>(),
                                            schema<std::vector<Renamed>>(),
                                            schema<std::optional<Retyped>>(),
                                            schema<std::map<std::string, Extended>>()};
  EXPECT_EQ(std::set<std::string>(schemas.begin(), schemas.end()).size(), schemas.size());
}

// Checks that the schema has the keys of a document.
void expect_keys(const std::string& schema, const Json& json) {
  if (json.is_array() && !json.empty()) expect_keys(schema, json.front());
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const bool field = key != kProtocolKey && key != "kind";
    EXPECT_TRUE(!field || schema.find(key + ":") != std::string::npos) << key;
    expect_keys(schema, value);
  }
}

TEST(SameBuild, TheSchemasHaveTheFieldsOfJobsAndEvents) {
  JobSpec job;
  job.units.resize(1);
  expect_keys(job_schema(), Json::parse(to_json(job)));
  expect_keys(event_schema(), Json::parse(to_json_line(ChunkDone{})));
  expect_keys(event_schema(), Json::parse(to_json_line(UnitDone{})));
}

std::string code_of(EventReader& reader, const std::string& line) {
  return std::string(testing::refused([&] { reader.read(line); }).code.name());
}

TEST(SameBuild, TheGreetingComesBeforeEveryEvent) {
  const std::string event = to_json_line(ModelLoading{});
  EventReader reader;
  EXPECT_FALSE(reader.read(greeting()).has_value());
  EXPECT_TRUE(reader.read(event).has_value());
  EventReader of_older_worker;
  EXPECT_EQ(code_of(of_older_worker, event), "job.protocol");
  EventReader of_other_worker;
  EXPECT_EQ(code_of(of_other_worker, R"({"kind":"greeting","protocol":"0.0.1 abc"})"),
            "job.protocol");
}

TEST(SameBuild, OtherTextIsSurvivedBeforeTheGreetingAndAfterIt) {
  EventReader reader;
  EXPECT_EQ(code_of(reader, "a library speaks"), "worker.garbage");
  EXPECT_FALSE(reader.read(greeting()).has_value());
  EXPECT_EQ(code_of(reader, "a library speaks"), "worker.garbage");
  EXPECT_TRUE(reader.read(to_json_line(ModelLoading{})).has_value());
}

TEST(SameBuild, AJobOfAnotherBuildIsRefusedBeforeItsFieldsAreRead) {
  JobSpec spec;
  spec.cache_dir = "c";
  EXPECT_EQ(job_of_this_build(to_json(spec)).cache_dir, "c") << "the control";
  Json job = Json::parse(to_json(spec));
  job[kProtocolKey] = "0.0.1 abc";
  EXPECT_EQ(job_spec_from_json(job.dump()).cache_dir, "c") << "for those who only look at it";
  const ErrorDetail other = testing::refused([&] { job_of_this_build(job.dump()); });
  EXPECT_EQ(other.code.name(), "job.protocol");
  EXPECT_EQ(other.expected, protocol_id());
  EXPECT_EQ(other.found, "\"0.0.1 abc\"");
  job.erase("units");
  EXPECT_EQ(testing::refused([&] { job_of_this_build(job.dump()); }).what, other.what);
  job.erase(kProtocolKey);
  EXPECT_EQ(testing::refused([&] { job_of_this_build(job.dump()); }).what, other.what);
}

}  // namespace
}  // namespace encode
