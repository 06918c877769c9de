#include "report/page.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t occurrences(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The text between <script id="data"...> and the next </script>, as a browser cuts it.
std::string data_of(const std::string& page) {
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

const std::string kHostile[] = {"</script><script>alert(1)</script>",
                                "<!-- <script>",
                                "\"quotes\" and 'quotes' and \\",
                                "\xE2\x80\xA8\xE2\x80\xA9 line separators",
                                std::string("NUL \0 inside", 12),
                                "&lt;b&gt;",
                                "\x1b[31m"};

TEST(Page, HostileTextsStayDataAndComeBackUnchanged) {
  for (const std::string& text : kHostile) {
    const Json report = {{"text", text}, {text, 1}};
    const std::string page = html_page(report);
    EXPECT_EQ(Json::parse(data_of(page)), report) << text;
    EXPECT_THAT(script_json(report), Not(HasSubstr("<"))) << text;
    EXPECT_THAT(script_json(report), Not(HasSubstr("\xE2"))) << text;
  }
}

TEST(Page, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  const std::string page = html_page({{"text", "a\xFF\xC3"}});
  EXPECT_EQ(Json::parse(data_of(page))["text"], "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Page, IsOneFileThatLoadsNothing) {
  const std::string page = html_page(Json::object());
  EXPECT_TRUE(page.starts_with(kPageHead));
  EXPECT_EQ(occurrences(page, "<script"), occurrences(page, "</script>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, HasSubstr("Chart.js Contributors"));
  EXPECT_THAT(page, HasSubstr("Permission is hereby granted"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
}

}  // namespace
}  // namespace encode
