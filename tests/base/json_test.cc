#include "base/json.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using testing::refused;
using testing::TempDir;

Json parse(std::string_view text, const JsonLimits& limits = {}) {
  return parse_json(text, limits, "doc.json", "model.config");
}

ErrorDetail refusal(std::string_view text, const JsonLimits& limits = {}) {
  return refused([&] { parse(text, limits); });
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(ParseJson, ReadsWhatIsJson) {
  const Json json = parse(R"({"b": [1, -2.5, true, null], "a": "\u00e9"})");
  EXPECT_EQ(json["b"].size(), 4U);
  EXPECT_EQ(json["a"], "\xc3\xa9");
  EXPECT_EQ(json.dump(), "{\"a\":\"\xc3\xa9\",\"b\":[1,-2.5,true,null]}");
}

TEST(ParseJson, RefusesWhatIsNot) {
  const std::vector<std::string_view> broken = {
      "",         "{",          "{\"a\": 1} x", "{\"a\": 1,}", "[NaN]",        "[1e400]",
      "{'a': 1}", "[\"\xff\"]", "[01]",         "[\"\x01\"]",  "// comment\n1"};
  for (const std::string_view text : broken) {
    const auto error = refusal(text);
    EXPECT_EQ(error.code.name(), "model.config") << text;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig) << text;
    EXPECT_THAT(error.where, HasSubstr("doc.json")) << text;
    EXPECT_FALSE(error.found.empty()) << text;
  }
}

TEST(ParseJson, RefusesWhatFollowsANul) {
  const ErrorDetail error = refusal(std::string_view("{}\n\0junk", 8));
  EXPECT_EQ(error.code.name(), "model.config");
  EXPECT_THAT(error.where, HasSubstr("doc.json:2:1"));
}

TEST(ParseJson, SaysTheLineAndColumn) {
  EXPECT_EQ(refusal("{\n  \"a\": x\n}").where, "doc.json:2:8");
}

TEST(ParseJson, RefusesAKeyThatAppearsTwiceInOneObject) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": {"a": 2}, "a": 3})").found, HasSubstr("'a' appears twice"));
  EXPECT_EQ(parse(R"([{"a": 1}, {"a": {"a": 2}}])").size(), 2U);
}

TEST(ParseJson, StopsAtTheDepthLimit) {
  const JsonLimits limits{.max_bytes = 1 << 20, .max_depth = 10};
  EXPECT_NO_THROW(parse(nested(10), limits));
  EXPECT_THAT(refusal(nested(11), limits).found, HasSubstr("nested deeper than 10"));
  // Even 500,000 levels must not overflow the stack.
  EXPECT_EQ(refusal(nested(500'000), limits).code.name(), "model.config");
}

TEST(ParseJson, StopsAtTheSizeLimit) {
  const JsonLimits limits{.max_bytes = 4, .max_depth = 10};
  EXPECT_NO_THROW(parse("[12]", limits));
  EXPECT_THAT(refusal("[123]", limits).what, HasSubstr("too large"));
}

TEST(ReadJsonFile, NamesTheFile) {
  const TempDir dir;
  const std::string path = dir.write("a.json", "{");
  EXPECT_THAT(refused([&] { read_json_file(path, {}, "model.config"); }).where, HasSubstr(path));
}

class Fields : public ::testing::Test {
 protected:
  ErrorDetail refusal(const std::string& key) const {
    return refused([&] { fields.integer(key, 0, 100); });
  }

  Json json =
      Json::parse(R"({"int": 7, "big": 18446744073709551615, "float": 7.0, "text": "7", "yes": true,
                              "nothing": null, "list": [1], "object": {"a": 1}})");
  JsonFields fields{json, "doc.json", "model.config"};
};

TEST_F(Fields, GiveTypedValues) {
  EXPECT_EQ(fields.integer("int", 0, 100), 7);
  EXPECT_EQ(fields.number("float", 0, 100), 7.0);
  EXPECT_EQ(fields.number("int", 0, 100), 7.0);
  EXPECT_EQ(fields.string("text"), "7");
  EXPECT_TRUE(fields.boolean_or("yes", false));
  EXPECT_EQ(fields.array("list").size(), 1U);
  EXPECT_TRUE(fields.object("object").contains("a"));
}

TEST_F(Fields, TreatNullAsAbsent) {
  EXPECT_FALSE(fields.has("nothing"));
  EXPECT_EQ(fields.integer_or("nothing", 3, 0, 100), 3);
  EXPECT_EQ(fields.string_or("absent", "d"), "d");
  EXPECT_EQ(fields.number_or("absent", 0.5, 0, 1), 0.5);
  EXPECT_FALSE(fields.boolean_or("absent", false));
}

TEST_F(Fields, TakeIntegersOnlyFromIntegersInRange) {
  for (const char* key : {"big", "float", "text", "yes", "list", "absent"}) {
    const auto error = refusal(key);
    EXPECT_EQ(error.code.name(), "model.config") << key;
    EXPECT_THAT(error.what, HasSubstr(key));
    EXPECT_EQ(error.where, "doc.json") << key;
    EXPECT_EQ(error.expected, "an integer from 0 to 100") << key;
  }
  EXPECT_EQ(refused([&] { fields.integer("int", 8, 100); }).found, "7");
}

TEST(JsonMessages, NameTheObjectThatHasTheField) {
  const Json json = {{"rope_scaling", {{"factor", "x"}}}};
  const JsonFields config(json, "model/config.json", "model.config");
  const JsonFields rope = config.fields("rope_scaling");
  EXPECT_EQ(refused([&] { rope.number("factor", 1, 9); }).where, "model/config.json: rope_scaling");
  EXPECT_EQ(refused([&] { config.fields("text_config"); }).where, "model/config.json");
}

TEST(JsonMessages, StateTheRangeOfANumber) {
  const Json json = {{"layer_norm_eps", 2.5}};
  const JsonFields config(json, "config.json", "model.config");
  EXPECT_EQ(render(refused([&] { config.number("layer_norm_eps", 1e-30, 1); })),
            "error[model.config]: bad value for 'layer_norm_eps'\n"
            "  where     config.json\n"
            "  expected  a number from 1e-30 to 1\n"
            "  found     2.5\n"
            "  hint      correct the value, or copy the file again: encode accepts no other value");
}

// If a user edits the value of a variant, another model is loaded. The control is
// StateTheRangeOfANumber, where the hint asks for another value.
TEST(JsonMessages, DoNotAskForAnotherValueOfAVariant) {
  const Json json = {{"conv_kernel_size", 3}, {"hidden_act", "mish"}};
  const JsonFields config(json, "config.json", "model.config");
  EXPECT_EQ(render(refused([&] { config.refuse_variant("conv_kernel_size", "0"); })),
            "error[model.config]: unsupported value for 'conv_kernel_size'\n"
            "  where     config.json\n"
            "  expected  0\n"
            "  found     3\n"
            "  hint      encode does not have this variant; choose another model; do not edit the "
            "value, because the file would then describe another model");
  EXPECT_EQ(refused([&] { config.refuse_variant("hidden_act", "gelu"); }).found, "'mish'");
  EXPECT_EQ(refused([&] { config.refuse("hidden_act", "gelu"); }).found, "'mish'");
  EXPECT_EQ(refused([&] { config.refuse_variant("absent", "1"); }).found, "the key is missing");
  EXPECT_EQ(refused([&] { config.refuse("hidden_act", "gelu", "'mi'"); }).found, "'mi'");
}

TEST(JsonMessages, SayWhatIsNotJsonAndWhere) {
  EXPECT_EQ(render(refusal("{\n \"a\": NaN}")),
            "error[model.config]: malformed JSON\n"
            "  where     doc.json:2:7\n"
            "  expected  JSON (RFC 8259) with unique keys\n"
            "  found     NaN, which JSON does not have\n"
            "  hint      correct the file, or copy or download it again");
  EXPECT_EQ(render(refusal(R"({"a":1,"a":2})")),
            "error[model.config]: malformed JSON\n"
            "  where     doc.json\n"
            "  expected  JSON (RFC 8259) with unique keys\n"
            "  found     the key 'a' appears twice in one object\n"
            "  hint      correct the file, or copy or download it again");
}

// The offset is the first byte that is not valid at its place.
TEST(FindJsonFault, AgreesWithTheParserAboutWhatIsJson) {
  const std::string good = R"({"a":[1,-2.5e3,true,null,"\u00e9\n"],"b":{}})";
  EXPECT_FALSE(find_json_fault(good).has_value());
  for (size_t size = 0; size < good.size(); ++size) {
    const auto fault = find_json_fault(good.substr(0, size));
    ASSERT_TRUE(fault.has_value()) << size;
    EXPECT_LE(fault->offset, size);
    for (const char byte : {'\0', '\x01', 'x', ']', '\xff', '"', ','}) {
      std::string text = good;
      text[size] = byte;
      bool accepted = true;
      try {
        parse(text);
      } catch (const Error&) {
        accepted = false;
      }
      EXPECT_EQ(accepted, !find_json_fault(text).has_value()) << text;
    }
  }
}

TEST_F(Fields, RefuseWrongTypesOfOptionalValuesToo) {
  EXPECT_EQ(refused([&] { fields.integer_or("text", 1, 0, 9); }).code.name(), "model.config");
  EXPECT_EQ(refused([&] { fields.string_or("int", ""); }).code.name(), "model.config");
  EXPECT_EQ(refused([&] { fields.boolean_or("int", true); }).code.name(), "model.config");
  EXPECT_EQ(refused([&] { fields.number_or("text", 1, 0, 9); }).code.name(), "model.config");
  EXPECT_EQ(refused([&] { fields.object("list"); }).code.name(), "model.config");
  EXPECT_EQ(refused([&] { fields.array("object"); }).code.name(), "model.config");
}

TEST(JsonFields, NeedAnObject) {
  const Json list = Json::array();
  EXPECT_THAT(refused([&] { JsonFields(list, "doc.json", "model.config"); }).found,
              HasSubstr("array"));
}

}  // namespace
}  // namespace encode
