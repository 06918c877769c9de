#include "base/base64.h"

#include <optional>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

// RFC 4648, section 10.
TEST(Base64, WritesTheTextsOfTheRfc) {
  const std::pair<const char*, const char*> kTexts[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kTexts) {
    EXPECT_EQ(base64_of(bytes), text);
    EXPECT_EQ(bytes_of_base64(text), bytes);
  }
}

TEST(Base64, EveryByteSurvives) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    EXPECT_EQ(bytes_of_base64(base64_of(bytes)), bytes) << size;
  }
}

TEST(Base64, RefusesEveryOtherText) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "=Zg=", "Zm8=Zm8=", " Zm9v",
                           "Zm9v\n", "Zm9_", "Zm9-", "Zh==", "Zm9="})
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  EXPECT_EQ(bytes_of_base64(std::string_view("Zm9\0", 4)), std::nullopt);
}

}  // namespace
}  // namespace encode
