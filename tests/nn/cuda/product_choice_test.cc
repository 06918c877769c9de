// Tests the choice among the algorithms for a matrix product, on a list of made-up algorithms.
#include "nn/cuda/product_choice.h"

#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace encode {
namespace {

using Verdict = ProductCandidates::Verdict;

// An algorithm with a verdict, and its times in the order of the turns. The last time repeats.
struct MadeUp {
  Verdict verdict = Verdict::kGood;
  std::vector<double> milliseconds = {1};
};

class MadeUpCandidates final : public ProductCandidates {
 public:
  explicit MadeUpCandidates(std::vector<MadeUp> algorithms) : algorithms_(std::move(algorithms)) {}

  std::vector<ProductAlgorithm> suggest() override {
    std::vector<ProductAlgorithm> all;
    for (size_t i = 0; i < algorithms_.size(); ++i) all.push_back({i});
    return all;
  }
  Verdict judge(const ProductAlgorithm& algorithm) override {
    return algorithms_.at(algorithm[0]).verdict;
  }
  double time(const ProductAlgorithm& algorithm) override {
    const std::vector<double>& times = algorithms_.at(algorithm[0]).milliseconds;
    return times.at(std::min(timed[algorithm[0]]++, times.size() - 1));
  }

  std::map<uint64_t, size_t> timed;  // how often each algorithm was timed

 private:
  std::vector<MadeUp> algorithms_;
};

// Returns the number of the chosen algorithm, or -1.
int64_t chosen(std::vector<MadeUp> algorithms) {
  MadeUpCandidates candidates(std::move(algorithms));
  const ProductFinding finding = choose_algorithm(candidates);
  return finding.algorithm ? static_cast<int64_t>(finding.algorithm->at(0)) : -1;
}

TEST(ChooseAlgorithm, TakesTheFastest) {
  EXPECT_EQ(chosen({{Verdict::kGood, {3}}, {Verdict::kGood, {1}}, {Verdict::kGood, {2}}}), 1);
}

TEST(ChooseAlgorithm, NeverTakesABadOneHoweverFast) {
  for (const Verdict bad : {Verdict::kFailed, Verdict::kWrong, Verdict::kUnequalRows})
    EXPECT_EQ(chosen({{bad, {0.1}}, {Verdict::kGood, {3}}, {bad, {0.2}}}), 1);
}

TEST(ChooseAlgorithm, DoesNotTimeABadOne) {
  MadeUpCandidates candidates({{Verdict::kWrong, {1}}, {Verdict::kGood, {1}}});
  choose_algorithm(candidates);
  EXPECT_EQ(candidates.timed[0], 0U);
  EXPECT_EQ(candidates.timed[1], static_cast<size_t>(kProductTimings));
}

TEST(ChooseAlgorithm, TakesNoneIfAllAreBad) {
  EXPECT_EQ(chosen({{Verdict::kFailed, {1}}, {Verdict::kUnequalRows, {1}}}), -1);
  EXPECT_EQ(chosen({}), -1);
}

TEST(ChooseAlgorithm, TakesTheEarlierOfTwoThatAreEquallyFast) {
  EXPECT_EQ(chosen({{Verdict::kGood, {2}}, {Verdict::kGood, {2}}}), 0);
  EXPECT_EQ(chosen({{Verdict::kGood, {2}}, {Verdict::kGood, {2 * kFasterShare}}}), 0);
  EXPECT_EQ(chosen({{Verdict::kGood, {2}}, {Verdict::kGood, {1.99 * kFasterShare}}}), 1);
}

// A few slow turns, such as the first, do not decide.
TEST(ChooseAlgorithm, ComparesMedians) {
  EXPECT_EQ(chosen({{Verdict::kGood, {9, 9, 9, 1}}, {Verdict::kGood, {2}}}), 0);
  EXPECT_EQ(chosen({{Verdict::kGood, {1, 1, 1, 9}}, {Verdict::kGood, {2}}}), 1);
}

TEST(ChooseAlgorithm, TakesNoneThatFailsWhileItIsTimed) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(chosen({{Verdict::kGood, {never}}, {Verdict::kGood, {5}}}), 1);
  EXPECT_EQ(chosen({{Verdict::kGood, {never}}}), -1);
}

TEST(ChooseAlgorithm, CountsWhatItHasSeen) {
  MadeUpCandidates candidates({{Verdict::kFailed, {1}},
                               {Verdict::kWrong, {1}},
                               {Verdict::kWrong, {1}},
                               {Verdict::kUnequalRows, {1}},
                               {Verdict::kGood, {4}},
                               {Verdict::kGood, {2}}});
  const ProductFinding finding = choose_algorithm(candidates);
  EXPECT_EQ(finding, (ProductFinding{.algorithm = ProductAlgorithm{5},
                                     .milliseconds = 2,
                                     .first_milliseconds = 4,
                                     .suggestions = 6,
                                     .failed = 1,
                                     .wrong = 2,
                                     .unequal_rows = 1}));
}

TEST(ProductShapeText, TellsShapesApart) {
  const ProductShape shape = {.rows = 4096,
                              .in_features = 384,
                              .out_features = 1536,
                              .format = ProductFormat::kBFloat16,
                              .bias = true,
                              .activation = Activation::kGeluTanh};
  EXPECT_EQ(to_string(shape), "4096 x 384 x 1536 bfloat16, bias, gelu_tanh");
  ProductShape other = shape;
  other.bias = false;
  other.residual = true;
  other.activation = Activation::kNone;
  EXPECT_EQ(to_string(other), "4096 x 384 x 1536 bfloat16, residual");
  other.format = ProductFormat::kFloat32High;
  EXPECT_EQ(to_string(other), "4096 x 384 x 1536 float32_high, residual");
}

TEST(AlgorithmText, IsReadBack) {
  const ProductAlgorithm algorithm = {1, 0xfedcba9876543210, 3, 4, 5, 6, 7, UINT64_MAX};
  EXPECT_EQ(algorithm_from_hex(to_hex(algorithm)), algorithm);
  const std::string text = to_hex(algorithm);
  for (const std::string& broken :
       {std::string(), text.substr(1), text + "0", "g" + text.substr(1), "-" + text.substr(1)})
    EXPECT_EQ(algorithm_from_hex(broken), std::nullopt) << broken;
}

}  // namespace
}  // namespace encode
