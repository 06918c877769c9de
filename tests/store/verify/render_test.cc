// Tests the table of `encode verify`.
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/verify/verify.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

VerifyReport report_of(const std::string& name) {
  MatrixSummary matrix;
  matrix.name = name;
  matrix.rows = matrix.input_rows = 3000;
  matrix.dim = 384;
  matrix.item = ItemType::kFloat32;
  matrix.file_bytes = 4'608'128;
  matrix.norms = NormSummary{.min = 1, .mean = 1, .max = 1};
  VerifyReport report;
  report.matrices.push_back(matrix);
  return report;
}

size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(VerifyTable, ALongNameHasALineOfItsOwnInANarrowTerminal) {
  const std::string name = "tickets_2024_q3.csv_body_all-MiniLM-L6-v2_embeddings.npy";
  VerifyReport report = report_of(name);
  report.matrices.push_back(report_of("b.npy").matrices.front());
  EXPECT_THAT(render_table(report), HasSubstr(name + "  3,000  384  float32"));
  const std::string table = render_table(report, 79);
  EXPECT_LE(widest_line(table), 79U) << table;
  EXPECT_THAT(table, StartsWith("matrix   rows  dim    dtype"));
  EXPECT_THAT(table, HasSubstr("\n" + name + "\n        3,000  384  float32"));
  EXPECT_THAT(table, HasSubstr("\nb.npy\n        3,000  384  float32"));
}

TEST(VerifyTable, AShortNameIsLeftAsItIs) {
  EXPECT_EQ(render_table(report_of("tp.npy"), 79), render_table(report_of("tp.npy")));
}

}  // namespace
}  // namespace encode
