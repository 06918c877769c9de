// all-MiniLM-L6-v2 against sentence-transformers on 100 real texts (tests/data/README.md names the
// maker).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/npy.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::vector<float> read_matrix(const std::string& path) {
  const NpyHeader header = read_npy_header(path);
  const std::string bytes = read_bytes(path);
  std::vector<float> values(static_cast<size_t>(header.rows * header.cols));
  std::memcpy(values.data(), bytes.data() + header.data_offset, values.size() * sizeof(float));
  return values;
}

TEST(MiniLm, IsWithin1e5OfSentenceTransformers) {
  const std::string model = std::string(MODELS_DIR) + "/all-MiniLM-L6-v2";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no demo model: run scripts/models.sh";
  const TempDir dir;
  Program program(dir.path(), {"run", "--model", model, "--input", test_data("minilm/texts.jsonl"),
                               "--field", "text", "--output", dir.file("out.npy"), "--device",
                               "cpu", "--dtype", "float32"});
  const ProgramEnd end = program.wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::vector<float> ours = read_matrix(dir.file("out.npy"));
  const std::vector<float> theirs = read_matrix(test_data("minilm/embeddings.npy"));
  ASSERT_EQ(ours.size(), theirs.size());
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs[i]));
  EXPECT_LE(worst, 1e-5);
}

}  // namespace
}  // namespace encode::testing
