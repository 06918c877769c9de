// Tests the table of cards.
#include "memory/cards.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

namespace encode::testing {
namespace {

TEST(Cards, AreFoundByTheNamesThatTheDriverGives) {
  for (const auto& [name, card] :
       {std::pair{"NVIDIA A100-SXM4-80GB", "A100-80GB"}, std::pair{"NVIDIA H100 80GB HBM3", "H100"},
        std::pair{"NVIDIA H200", "H200"}, std::pair{"Tesla T4", "T4"},
        std::pair{"NVIDIA GeForce RTX 4090", "RTX 4090"}, std::pair{"nvidia a10g", "A10G"}}) {
    ASSERT_NE(find_card(name), nullptr) << name;
    EXPECT_EQ(find_card(name)->name, card);
  }
  EXPECT_EQ(find_card("GTX 9999"), nullptr);
}

TEST(Cards, AnUnknownCardIsAnErrorThatListsAllOfThem) {
  try {
    require_card("A100-8OGB");
    FAIL() << "the card was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code, "plan.card");
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.detail().hint, ::testing::HasSubstr("A100-80GB"));
    for (const GpuCard& card : gpu_cards())
      EXPECT_THAT(error.detail().expected, ::testing::HasSubstr(std::string(card.name)));
  }
}

}  // namespace
}  // namespace encode::testing
