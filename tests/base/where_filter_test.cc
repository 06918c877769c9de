// Tests the language of filters. tests/apps/filter_test.py compares random filters with another
// implementation.
#include "base/where_filter.h"

#include <map>
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
using Kind = FilterValue::Kind;
using Verdict = WhereFilter::Verdict;

const std::map<std::string, FilterValue>& record() {
  static const std::map<std::string, FilterValue> values = {
      {"s", {Kind::kString, "en"}},
      {"e", {Kind::kString, ""}},
      {"ü",
       {Kind::kString,
        "Gr\xC3\xBC\xC3\x9F"
        "e"}},
      {"a b", {Kind::kString, "x"}},
      {"n", {Kind::kNumber, "20"}},
      {"big", {Kind::kNumber, "9007199254740993"}},
      {"b", {Kind::kBoolean, "true"}},
      {"no", {Kind::kNull, ""}},
      {"list", {Kind::kOther, "[1]"}},
      {"c", {Kind::kUntyped, "10"}},
      {"d", {Kind::kUntyped, "9"}},
      {"/m/x", {Kind::kNumber, "1"}},
      {"length", {Kind::kNumber, "3"}}};
  return values;
}

Verdict verdict(std::string_view where, FilterMismatch* mismatch = nullptr) {
  const WhereFilter filter(where);
  std::vector<FilterValue> values;
  for (const std::string& name : filter.fields()) values.push_back(record().at(name));
  FilterMismatch why;
  const Verdict result = filter.apply(values, why);
  if (mismatch != nullptr) *mismatch = why;
  return result;
}

void expect_all(Verdict expected, const std::vector<const char*>& filters) {
  for (const char* where : filters) EXPECT_EQ(verdict(where), expected) << where;
}

ErrorDetail refusal(std::string_view where) {
  return testing::refused([&] { WhereFilter refused(where); });
}

TEST(WhereFilter, Compares) {
  expect_all(Verdict::kTrue, {R"(s == "en")",
                              R"(s = 'en')",
                              R"(s != "de")",
                              R"(s <> "de")",
                              R"("en" == s)",
                              "n > 19.5",
                              "n >= 2e1",
                              "n <= 20.000",
                              "19 < n",
                              "n==20",
                              "b == true",
                              "b",
                              "not b == false",
                              R"(s == "en" and n > 5)",
                              R"(s == "de" or n > 5)",
                              "n in [1, 20]",
                              "n not in (1, 2)",
                              "no is null",
                              "n IS NOT NULL",
                              "/m/x == 1",
                              "`a b` == 'x'",
                              "ü > 'Gr'",
                              "n == 20 AND NOT (b = FALSE)",
                              "b > false",
                              "e == ''",
                              "length == 3",
                              "-1 < n",
                              "n > -.5"});
  expect_all(Verdict::kFalse, {R"(s == "EN")", "n < 20", "not b", "n in [1]", "n is null",
                               "no is not null", "false and no == 1 or n == 1", "s < ''"});
}

TEST(WhereFilter, ANullIsUnknownAsInSql) {
  expect_all(Verdict::kUnknown,
             {"no == 1", "no != 1", "not no == 1", "no", "not no", "no in [1]", "no not in [1]",
              "n in [1, null]", "n not in [1, null]", "no == 1 and b", "no == 1 or n == 1",
              "length(no) > 1", "n == no", "null and b"});
  expect_all(Verdict::kTrue, {"no == 1 or b", "n in [null, 20]", "b or no"});
  expect_all(Verdict::kFalse, {"no == 1 and not b", "n not in [20, null]"});
}

// Rounded to double, the two numbers are equal.
TEST(WhereFilter, NumbersAreExact) {
  expect_all(Verdict::kTrue, {"big > 9007199254740992", "big == 9007199254740993.0",
                              "big != 9007199254740992", "big < 9007199254740994e0"});
}

TEST(WhereFilter, TheLengthIsInCharacters) {
  expect_all(Verdict::kTrue,
             {"length(ü) == 5", "LENGTH(e) == 0", "length( `a b` ) < length(ü)", "length(c) == 2"});
}

TEST(WhereFilter, TheOtherSideGivesTheTypeOfAFormatWithoutTypes) {
  expect_all(Verdict::kTrue,
             {"c > 9", "c < '9'", "c == 10.0", "c in ['10']", "c != d", "d in [9]"});
  EXPECT_EQ(verdict("c < d"), Verdict::kMismatch);
  EXPECT_EQ(verdict("c == true"), Verdict::kMismatch);
}

TEST(WhereFilter, AMismatchNamesTheFieldAndBothTypes) {
  FilterMismatch mismatch;
  EXPECT_EQ(verdict("s > 3", &mismatch), Verdict::kMismatch);
  EXPECT_EQ(mismatch.what, "the filter compares a string with a number");
  EXPECT_EQ(mismatch.expected, "a number in 's', because the filter compares it with 3");
  EXPECT_EQ(mismatch.found, "the string 'en'");
  EXPECT_EQ(verdict("'x' == n", &mismatch), Verdict::kMismatch);
  EXPECT_EQ(mismatch.expected, "a string in 'n', because the filter compares it with x");
  EXPECT_EQ(mismatch.found, "the number 20");
  EXPECT_EQ(verdict("length(n) > 1", &mismatch), Verdict::kMismatch);
  EXPECT_THAT(mismatch.expected, HasSubstr("a string in 'n'"));
  EXPECT_EQ(verdict("list == 1", &mismatch), Verdict::kMismatch);
  EXPECT_EQ(mismatch.found, "the list or object [1] in 'list'");
  expect_all(Verdict::kMismatch, {"s", "n", "b == 1", "s in [1]", "s == n", "list == list",
                                  "length(n) is null", "length(n) == no", "no == length(n)"});
  // The left side decides before the mismatch is reached, so it can guard the right side.
  expect_all(Verdict::kFalse, {"s == 'de' and s > 3"});
  expect_all(Verdict::kTrue, {"s == 'en' or s > 3", "list is not null"});
}

TEST(WhereFilter, StringsHaveEscapesAndNamesHaveBackticks) {
  EXPECT_THAT(
      WhereFilter("`a b` == \"q\\\"\\\\\\n\" and `in` == 1 and x_1 == 2 and `a b` == 'y'").fields(),
      ElementsAre("a b", "in", "x_1"));
  EXPECT_THAT(WhereFilter("/a/b~1c>1 and /0/x in[1]").fields(), ElementsAre("/a/b~1c", "/0/x"));
}

// A name in double quotes is a string, so a filter that compares it would keep all rows or none
// without a word.
TEST(WhereFilter, AnErrorNamesThePlaceAndTheRemedy) {
  struct Case {
    const char* where;
    const char* found;
    const char* remedy;
  };
  const Case cases[] = {{"\"Name\" == 'x'", "'\"Name\" == 'x''", "backticks"},
                        {"x == null", "character 1", "is null"},
                        {"ü == 1 and", "the end of the filter", "condition"},
                        {"ü == 1 und x", "'und x' at character 8", "and, or"},
                        {"", "the end of the filter", "condition"},
                        {"a-b > 1", "'a-b > 1' at character 1", "`a-b`"},
                        {"a.b > 1", "'a.b > 1'", "/a/b"},
                        {"a > 1 && b", "'&& b' at character 7", "and"},
                        {"!a", "'!a'", "not"},
                        {"{a} == 1", "'{a}", "without braces"},
                        {"a == \"x", "'\"x' at character 6", "close"},
                        {"a == 'it''s'", "character 6", "\\'"},
                        {"a == 'x\\q'", "'\\q'' at character 8", "backslash"},
                        {"`a == 1", "'`a", "close"},
                        {"a in [1, 'x']", "''x']'", "two lists"},
                        {"a in []", "']'", "condition"},
                        {"a in 1", "'1'", "brackets"},
                        {"a in [b]", "'b]'", "quotes"},
                        {"a in [1", "the end", "close"},
                        {"(a == 1", "the end", ")"},
                        {"a == 1)", "')'", "parentheses"},
                        {"a is 1", "'1'", "=="},
                        {"a == b == c", "'== c'", "and"},
                        {"5", "'5'", "condition"},
                        {"1 == 1", "'1 == 1'", "name"},
                        {"true", "'true'", "condition"},
                        {"a == 1.2.3", "'1.2.3'", "quotes"},
                        {"lower(a) == 'x'", "'lower(a)", "length"},
                        {"length('x') == 1", "'length(", "name of a field"},
                        {"and == 1", "'and == 1'", "`and`"},
                        {"a like 'x'", "'like 'x''", "and, or"},
                        {"a not like 'x'", "'like 'x''", "not"},
                        {"a == \x01", "'\\x01'", "backticks"},
                        {"a == '\xFF'", "\\xff", "UTF-8"}};
  for (const Case& one : cases) {
    const ErrorDetail error = refusal(one.where);
    EXPECT_EQ(error.code.name(), "config.filter") << one.where;
    EXPECT_THAT(error.found, HasSubstr(one.found)) << one.where;
    EXPECT_THAT(error.hint, HasSubstr(one.remedy)) << one.where;
    EXPECT_FALSE(error.what.empty() || error.expected.empty()) << one.where;
  }
}

TEST(WhereFilter, ItsDepthItsSizeAndItsFieldsAreLimited) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "s == 'x'" +
           std::string(static_cast<size_t>(depth), ')');
  };
  EXPECT_EQ(verdict(nested(WhereFilter::kMostDepth)), Verdict::kFalse);
  EXPECT_THAT(refusal(nested(WhereFilter::kMostDepth + 1)).what, HasSubstr("too deeply"));
  EXPECT_THAT(refusal(std::string(60000, '(')).what, HasSubstr("too deeply"));
  std::string inverted;
  for (int i = 0; i <= WhereFilter::kMostDepth; ++i) inverted += "not ";
  EXPECT_THAT(refusal(inverted + "b").what, HasSubstr("too deeply"));
  EXPECT_EQ(verdict(inverted.substr(4) + "b"), Verdict::kTrue);
  EXPECT_THAT(refusal(std::string(WhereFilter::kMostBytes + 1, ' ')).what, HasSubstr("too long"));
  std::string chain = "b";
  while (chain.size() < WhereFilter::kMostBytes - 10) chain += " and b";
  EXPECT_EQ(verdict(chain), Verdict::kTrue);
  std::string fields = "f0";
  for (size_t i = 1; i < WhereFilter::kMostFields; ++i) fields += " and f" + std::to_string(i);
  EXPECT_EQ(WhereFilter(fields).fields().size(), WhereFilter::kMostFields);
  EXPECT_THAT(refusal(fields + " and one_more").found, HasSubstr("one_more"));
}

}  // namespace
}  // namespace encode
