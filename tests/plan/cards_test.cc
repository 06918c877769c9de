// Tests the table of cards.
#include "run_plan/memory/cards.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"

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

TEST(Cards, AreFoundByShortNames) {
  for (const auto& [name, card] :
       {std::pair{"4090", "RTX 4090"}, std::pair{"rtx4090", "RTX 4090"},
        std::pair{"3090", "RTX 3090"}, std::pair{"5090", "RTX 5090"}, std::pair{"h100", "H100"},
        std::pair{"h200", "H200"}, std::pair{"l4", "L4"}, std::pair{"l40s", "L40S"},
        std::pair{"t4", "T4"}, std::pair{"a10", "A10"}, std::pair{"a10g", "A10G"},
        std::pair{"a6000", "RTX A6000"}, std::pair{"2080ti", "RTX 2080 Ti"},
        std::pair{"a100-80gb", "A100-80GB"}, std::pair{"h100 nvl", "H100 NVL"},
        std::pair{"Quadro RTX A6000", "RTX A6000"}}) {
    ASSERT_NE(find_card(name), nullptr) << name;
    EXPECT_EQ(find_card(name)->name, card);
  }
}

TEST(Cards, EachHasANameOfItsOwn) {
  for (const GpuCard& card : gpu_cards()) EXPECT_EQ(find_card(card.name), &card) << card.name;
}

TEST(Cards, ANameThatSeveralCardsHaveListsThem) {
  for (const auto& [name, choices] : {std::pair{"a100", "one of: A100-40GB, A100-80GB"},
                                      std::pair{"NVIDIA V100", "one of: V100-16GB, V100-32GB"}}) {
    EXPECT_EQ(find_card(name), nullptr) << name;
    const ErrorDetail error = refused([&, card = std::string(name)] { require_card(card); });
    EXPECT_EQ(error.code.name(), "plan.card");
    EXPECT_EQ(error.what, "the GPU is made with different memory");
    EXPECT_EQ(error.expected, choices);
  }
}

TEST(Cards, OfAmdAreRefused) {
  for (const std::string name : {"mi300x", "MI250", "AMD Instinct MI210", "Radeon RX 7900"}) {
    const ErrorDetail error = refused([&] { require_card(name); });
    EXPECT_EQ(error.what, "the GPU is one of AMD") << name;
    EXPECT_EQ(error.hint, "encode computes on NVIDIA GPUs (CUDA) and on CPUs");
  }
  EXPECT_EQ(refused([] { require_card("mini"); }).what, "the GPU is not in the table of cards");
}

TEST(Cards, AnUnknownCardIsAnErrorThatNamesTheClosest) {
  try {
    require_card("A100-8OGB");
    FAIL() << "the card was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "plan.card");
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.detail().hint, ::testing::HasSubstr("A100-80GB"));
    EXPECT_THAT(error.detail().hint, ::testing::HasSubstr("encode plan --gpu list"));
    EXPECT_THAT(error.detail().expected, ::testing::StartsWith("one of: A100-80GB, "));
    EXPECT_LE(error.detail().expected.size(), 80U);
  }
}

}  // namespace
}  // namespace encode::testing
