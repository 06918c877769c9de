// Tests the template of a text.
#include "base/text_template.h"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kEnough = 1000;

std::string rendered(std::string_view spelled, const std::vector<std::string_view>& values) {
  std::string text;
  EXPECT_TRUE(TextTemplate(spelled).render(values, kEnough, text));
  return text;
}

ErrorDetail refusal(std::string_view spelled) {
  return testing::refused([&] { TextTemplate refused(spelled); });
}

TEST(TextTemplate, PutsTheValuesInPlaceOfTheFields) {
  EXPECT_EQ(rendered("title: {title} | text: {/body/main}", {"A", "b\n"}), "title: A | text: b\n");
  EXPECT_EQ(rendered("{a}", {""}), "");
  EXPECT_EQ(rendered("{a}{b}", {"x", "y"}), "xy");
  EXPECT_EQ(rendered("\xC3\xBC{a}\xC3\xBC", {"\xC3\xA4"}), "\xC3\xBC\xC3\xA4\xC3\xBC");
}

TEST(TextTemplate, NamesEachFieldOnceInTheOrderOfTheFirstUse) {
  EXPECT_THAT(TextTemplate("{b} {a} {b} {/x/0}").fields(), ElementsAre("b", "a", "/x/0"));
  EXPECT_EQ(rendered("{b}-{a}-{b}", {"1", "2"}), "1-2-1");
}

TEST(TextTemplate, AFieldIsNamedWithItsSpacesAndSigns) {
  EXPECT_THAT(TextTemplate("{ a b } {a:b} {a!r} {a.b} {\"a\"}").fields(),
              ElementsAre(" a b ", "a:b", "a!r", "a.b", "\"a\""));
}

TEST(TextTemplate, TwoBracesAreOneInTheText) {
  EXPECT_EQ(rendered("{{{a}}}", {"x"}), "{x}");
  EXPECT_EQ(rendered("{{a}} {a}", {"x"}), "{a} x");
  EXPECT_EQ(rendered("{a}}}{{", {"x"}), "x}{");
  EXPECT_EQ(rendered("{{{{{a}}}}}", {"x"}), "{{x}}");
}

// A value is data: braces in it are no fields.
TEST(TextTemplate, DoesNotReadTheValuesAsTemplates) {
  EXPECT_EQ(rendered("{a}{b}", {"{b}", "}}"}), "{b}}}");
}

TEST(TextTemplate, RefusesBracesThatDoNotFit) {
  for (const char* spelled : {"{a", "x {", "{a {b}", "{{{a}}} {"})
    EXPECT_THAT(refusal(spelled).what, HasSubstr("not closed")) << spelled;
  for (const char* spelled : {"{a}}", "a}", "}{a}", "{{a} {b}"})
    EXPECT_THAT(refusal(spelled).what, HasSubstr("not opened")) << spelled;
  EXPECT_THAT(refusal("{a}{}").what, HasSubstr("no name"));
  const ErrorDetail error = refusal("title {title");
  EXPECT_EQ(error.code.name(), "config.value");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.found, "'{title' at byte 7 of the template");
}

TEST(TextTemplate, RefusesATemplateWithoutAField) {
  for (const char* spelled : {"", "title", "{{title}}"})
    EXPECT_THAT(refusal(spelled).what, HasSubstr("no field")) << spelled;
}

TEST(TextTemplate, HasAtMost64Fields) {
  std::string spelled;
  for (size_t i = 0; i < TextTemplate::kMostFields; ++i) spelled += fmt::format("{{f{}}}{{f0}}", i);
  EXPECT_EQ(TextTemplate(spelled).fields().size(), TextTemplate::kMostFields);
  EXPECT_THAT(refusal(spelled + "{more}").what, HasSubstr("too many fields"));
}

TEST(TextTemplate, SaysWhereAFieldBegins) {
  const TextTemplate text("<{a}|{{{b}}}{a}>");
  const std::vector<std::string_view> values = {"123", "x"};
  EXPECT_EQ(text.begin_of(0, values), 1U);
  EXPECT_EQ(text.begin_of(1, values), 6U);
  EXPECT_EQ(text.occurrences("a"), 2);
  EXPECT_EQ(text.occurrences("b"), 1);
  EXPECT_EQ(text.occurrences("c"), 0);
}

TEST(TextTemplate, RefusesATextThatIsTooLong) {
  const TextTemplate repeated("{a}{a}{a}.");
  const std::vector<std::string_view> values = {"12345"};
  std::string text = "before";
  EXPECT_FALSE(repeated.render(values, 15, text));
  EXPECT_EQ(text, "before");
  EXPECT_TRUE(repeated.render(values, 16, text));
  EXPECT_EQ(text, "123451234512345.");
}

}  // namespace
}  // namespace encode
