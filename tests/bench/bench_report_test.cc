// Tests the table and the JSON that `encode bench` prints.
#include "bench/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Makes a run in which encoding takes the whole time except for one second. The matrix products
// alone would take half of the whole time.
BenchTurn turn(double seconds) {
  BenchTurn turn;
  turn.seconds = seconds;
  turn.cpu_seconds = 2 * seconds;
  turn.start_seconds = 0.75;
  turn.finish_seconds = 0.25;
  turn.stages.encode = seconds - 1;
  turn.rows = 50;
  turn.tokens = 4000;
  turn.token_slots = 5000;
  turn.peak_host_bytes = 300'000'000;
  turn.whole_seconds = 60 * seconds;
  turn.products = {.threads = 2,
                   .flops_per_token = 1e6,
                   .tokens_per_second = 2 * 4000 / seconds,
                   .tokens_per_cpu_second = 4000 / seconds,
                   .square_flops_per_second = 4e9};
  return turn;
}

BenchReport report() {
  BenchReport report;
  report.model = "tiny";
  report.device = {.name = "cpu (avx2)", .place = "cpu"};
  report.rows = 50;
  report.whole_rows = 3000;
  report.notes = {"A note."};
  report.results.push_back({.dtype = "float32",
                            .batch_tokens = 0,
                            .batches = {{.stream = "tc", .plan = {.budget_tokens = 512}}},
                            .turns = {}});
  for (const double seconds : {4.0, 2.0, 8.0}) report.results[0].turns.push_back(turn(seconds));
  return report;
}

TEST(BenchReport, FiguresAreMediansWithTheirRange) {
  const Json json = to_json(report());
  const Json& result = json.at("results").at(0);
  EXPECT_EQ(result.at("seconds"),
            Json({{"median", 4.0}, {"min", 2.0}, {"max", 8.0}, {"runs", {4.0, 2.0, 8.0}}}));
  EXPECT_EQ(result.at("tokens_per_second").at("median"), 1000);
  EXPECT_EQ(result.at("share").at("median"), 0.5);
  EXPECT_EQ(result.at("cpu_share").at("median"), 0.5);
  EXPECT_DOUBLE_EQ(result.at("encoding_share").at("median"), 0.5 * 4 / 3);
  EXPECT_DOUBLE_EQ(result.at("square_share").at("median"), 1000 * 1e6 / 4e9);
  EXPECT_DOUBLE_EQ(result.at("padding").at("median"), 0.2);
  EXPECT_EQ(result.at("stages").at("start").at("median"), 0.75);
  EXPECT_EQ(json.at("whole_rows"), 3000);
}

TEST(BenchReport, ARefusedTypeIsMarked) {
  BenchReport refused = report();
  EXPECT_EQ(to_json(refused).at("results").at(0).at("refused"), false);
  EXPECT_THAT(render(refused), Not(HasSubstr("REFUSED")));
  refused.results[0].parity = {.cosine = 0.94, .least = 0.95};
  EXPECT_EQ(to_json(refused).at("results").at(0).at("refused"), true);
  EXPECT_THAT(render(refused), HasSubstr("REFUSED: `encode run` refuses float32 for this model"));
}

TEST(BenchReport, TheMedianOfTwoIsBetweenThem) {
  BenchReport two = report();
  two.results[0].turns.pop_back();
  EXPECT_EQ(to_json(two).at("results").at(0).at("seconds").at("median"), 3.0);
}

TEST(BenchReport, TheTableEndsWithWhatAllRowsWouldTake) {
  const std::string text = render(report());
  EXPECT_THAT(text, HasSubstr("tiny on cpu (avx2), 2 threads: 50 of 3,000 rows, 4,000 tokens"));
  EXPECT_THAT(text, HasSubstr("4.00 (2.00 to 8.00)"));
  EXPECT_THAT(text, HasSubstr("50 % (50 % to 50 %)"));
  EXPECT_THAT(text, HasSubstr("A note.\n"));
  EXPECT_THAT(
      text, ::testing::EndsWith("The whole input (3,000 rows) would take about 4 m 00 s in float32 "
                                "(2 m 00 s to 8 m 00 s).\n"));
}

TEST(BenchReport, WhatIsNotKnownIsNullAndInNoTable) {
  BenchReport unknown = report();
  EXPECT_THAT(render(unknown), HasSubstr("products"));
  for (BenchTurn& turn : unknown.results[0].turns) turn.products = {.threads = 2};
  EXPECT_TRUE(to_json(unknown).at("results").at(0).at("share").is_null());
  const std::string text = render(unknown);
  EXPECT_THAT(text, HasSubstr("no matrix products"));
  EXPECT_THAT(text, Not(HasSubstr("share of the products alone")));
  EXPECT_THAT(text, Not(HasSubstr("device memory")));
}

}  // namespace
}  // namespace encode
