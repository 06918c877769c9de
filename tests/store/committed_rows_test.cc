// Tests read_committed_rows(), which reads single rows of chunks for reports.
#include <filesystem>

#include <gtest/gtest.h>

#include "encode/store.h"

#include "store/fake_job.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

class CommittedRows : public ::testing::Test {
 protected:
  CommittedRows() { run_fake_job(dir_.path(), job_); }

  std::optional<std::vector<float>> read(const std::vector<int64_t>& rows) const {
    return read_committed_rows(dir_.path(), job_.identity, rows);
  }
  std::string chunk(const std::string& name) const {
    return chunks_dir(dir_.path(), job_.identity.name) + "/" + name;
  }

  TempDir dir_;
  FakeJob job_;  // 30 rows in chunks of 4
};

TEST_F(CommittedRows, AreThoseThatWereWritten) {
  std::vector<int64_t> all(30);
  for (size_t row = 0; row < all.size(); ++row) all[row] = static_cast<int64_t>(row);
  EXPECT_EQ(read(all), fake_rows({0, 30}, 4));
  for (const int64_t row : {0, 3, 4, 29}) EXPECT_EQ(read({row}), fake_rows({row, row + 1}, 4));
  EXPECT_EQ(read({}), std::vector<float>());
}

TEST_F(CommittedRows, AreAbsentWithoutTheirChunkOrWithThatOfAnotherStream) {
  std::filesystem::resize_file(chunk("chunks.log"),
                               read_bytes(chunk("chunks.log")).rfind("\n{") + 1);
  EXPECT_TRUE(read({27}));
  EXPECT_FALSE(read({27, 28})) << "the last chunk has no record";
  FakeJob other = job_;
  other.identity.fingerprint = R"({"seed":2})";
  EXPECT_FALSE(read_committed_rows(dir_.path(), other.identity, std::vector<int64_t>{0}));
  std::filesystem::remove_all(chunks_dir(dir_.path(), job_.identity.name));
  EXPECT_FALSE(read({0}));
}

TEST_F(CommittedRows, OfAChunkOfAnotherShapeAreRefused) {
  std::filesystem::copy_file(chunk("chunk_0007.npy"), chunk("chunk_0002.npy"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(read({0}), fake_rows({0, 1}, 4));
  EXPECT_EQ(code_of([&] { read({8}); }), "store.damaged");
  std::filesystem::remove(chunk("chunk_0002.npy"));
  EXPECT_EQ(code_of([&] { read({8}); }), "npy.open");
  write_bytes(chunk("stream.json"), "{");
  EXPECT_EQ(code_of([&] { read({0}); }), "store.damaged");
}

}  // namespace
}  // namespace encode::testing
