// Rows that were set aside: what the chunks record, and what a final matrix has in their place.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/npy.h"
#include "store/audit.h"
#include "store/fake_job.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SetAsideRow bad_row(int64_t row) {
  return {.row = row, .code = "device.cuda", .message = "illegal address"};
}

// A job of 30 rows in chunks of 4 rows. The rows 5, 6 and 29 are set aside.
class SetAside : public ::testing::Test {
 protected:
  std::unique_ptr<ChunkStore> open() const {
    return ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, job_.open);
  }

  std::vector<float> rows_with_zeros(RowRange range) const {
    std::vector<float> values = fake_rows(range, job_.identity.dim);
    for (const SetAsideRow& row : rows_) {
      if (row.row < range.begin || row.row >= range.end) continue;
      std::fill_n(values.begin() + (row.row - range.begin) * job_.identity.dim, job_.identity.dim,
                  0.0F);
    }
    return values;
  }

  void commit(ChunkStore& store, int64_t index) const {
    const RowRange range = store.chunk(index);
    const auto writer = store.begin(index);
    writer->append(rows_with_zeros(range));
    writer->append_truncated(fake_truncated(range));
    RowStats stats = fake_stats(range);
    for (const SetAsideRow& row : rows_) {
      if (row.row < range.begin || row.row >= range.end) continue;
      writer->append_set_aside(std::span(&row, 1));
      ++stats.set_aside_rows;
    }
    writer->commit(stats, {.device = "cpu"});
  }

  // Commits all pending chunks.
  void encode() const {
    const auto store = open();
    for (const int64_t index : store->pending()) commit(*store, index);
  }

  void assemble(QuarantinePolicy policy, std::vector<SetAsideRow> rows) const {
    open()->assemble(path_, {.format = {}, .quarantine = policy, .set_aside = std::move(rows)}, {});
  }

  std::string expected_without(const std::vector<int64_t>& dropped) const {
    std::string bytes;
    for (int64_t row = 0; row < 30; ++row) {
      if (std::find(dropped.begin(), dropped.end(), row) != dropped.end()) continue;
      const std::vector<float> values = fake_rows({row, row + 1}, job_.identity.dim);
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    }
    return bytes;
  }

  TempDir dir_;
  FakeJob job_;
  std::string path_ = job_.final_path(dir_.path());
  std::vector<SetAsideRow> rows_ = {bad_row(5), bad_row(6), bad_row(29)};
};

TEST_F(SetAside, RowsAreKnownAfterTheStoreIsOpenedAgain) {
  encode();
  EXPECT_EQ(open()->set_aside(), rows_);
  EXPECT_TRUE(open()->pending().empty());
  EXPECT_EQ(read_chunk_progress(chunks_dir(dir_.path(), job_.identity.name)).rows_set_aside, 3);
}

TEST_F(SetAside, TextsOfALedgerAreCutAndStayOnOneLine) {
  rows_ = {{.row = 0, .code = std::string(300, 'c'), .message = std::string(900, '\n') + "\xff"}};
  encode();
  const std::vector<SetAsideRow> read = open()->set_aside();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].code.size(), 100U);
  EXPECT_EQ(read[0].message, std::string(500, '\n'));
}

TEST_F(SetAside, ThePolicyErrorAllowsNoFinal) {
  encode();
  EXPECT_EQ(code_of([&] { assemble(QuarantinePolicy::kError, rows_); }), "store.misuse");
  EXPECT_EQ(code_of([&] { assemble(QuarantinePolicy::kError, {}); }), "store.misuse");
  // A list that leaves out a row would publish its zeros as an embedding.
  EXPECT_EQ(code_of([&] {
              assemble(QuarantinePolicy::kZeros, {rows_[0], rows_[2]});
            }),
            "store.misuse");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SetAside, ZerosStandInPlaceOfTheRowsAndAreListed) {
  encode();
  assemble(QuarantinePolicy::kZeros, rows_);
  const std::vector<float> values = rows_with_zeros({0, 30});
  const std::string expected(reinterpret_cast<const char*>(values.data()),
                             values.size() * sizeof(float));
  EXPECT_TRUE(read_bytes(path_).ends_with(expected));
  const Manifest manifest = read_manifest(path_).value();
  EXPECT_EQ(manifest.quarantine, QuarantinePolicy::kZeros);
  EXPECT_EQ(manifest.vectors(), 30);
  EXPECT_EQ(manifest.stats.set_aside_rows, 3);
  EXPECT_EQ(set_aside_rows(path_, manifest), rows_);
  EXPECT_EQ(final_state(path_, job_.identity, true), FinalState::kValid);
}

TEST_F(SetAside, DroppedRowsAreMissingFromTheFinal) {
  encode();
  // Row 0 was set aside in another stream of the split.
  std::vector<SetAsideRow> all = {bad_row(0), rows_[0], rows_[1], rows_[2]};
  assemble(QuarantinePolicy::kDrop, all);
  EXPECT_EQ(read_npy_header(path_).rows, 26);
  EXPECT_TRUE(read_bytes(path_).ends_with(expected_without({0, 5, 6, 29})));
  const Manifest manifest = read_manifest(path_).value();
  EXPECT_EQ(manifest.vectors(), 26);
  EXPECT_EQ(manifest.dropped_rows, 4);
  EXPECT_EQ(set_aside_rows(path_, manifest), all);
  EXPECT_EQ(final_state(path_, job_.identity, true), FinalState::kValid);
}

TEST_F(SetAside, ADamagedLedgerInvalidatesTheChunkAndTheFinal) {
  encode();
  assemble(QuarantinePolicy::kZeros, rows_);
  write_bytes(set_aside_path(path_), "{}\n");
  EXPECT_EQ(final_state(path_, job_.identity, false), FinalState::kDamaged);
  const std::string folder = chunks_dir(dir_.path(), job_.identity.name);
  write_bytes(folder + "/chunk_0001.set_aside.jsonl", "");
  std::filesystem::remove(folder + "/chunk_0007.set_aside.jsonl");
  EXPECT_THAT(open()->pending(), ElementsAre(1, 7));
}

TEST_F(SetAside, DiscardedChunksArePendingNowAndLater) {
  encode();
  {
    const auto store = open();
    store->discard({1, 7});
    EXPECT_THAT(store->pending(), ElementsAre(1, 7));
    EXPECT_THAT(store->set_aside(), IsEmpty());
    EXPECT_EQ(code_of([&] { store->discard({1}); }), "store.misuse");
    commit(*store, 1);  // records can still be appended to the log
  }
  EXPECT_THAT(open()->pending(), ElementsAre(7));
  EXPECT_THAT(open()->dropped(), IsEmpty());
  rows_ = {};
  encode();
  const auto store = open();
  EXPECT_EQ(store->set_aside().size(), 2U);  // chunk 1 was encoded with its rows quarantined
}

TEST_F(SetAside, AFinalWithZerosKeepsItsListInAnotherFormat) {
  encode();
  assemble(QuarantinePolicy::kZeros, rows_);
  reformat_final(path_, path_, {.type = OutputType::kFloat16, .ranges_file = ""}, {});
  EXPECT_EQ(set_aside_rows(path_, read_manifest(path_).value()), rows_);
}

TEST_F(SetAside, CombinedMatricesLackTheSameRows) {
  encode();
  assemble(QuarantinePolicy::kDrop, rows_);
  FakeJob other = job_;
  other.identity.name = "train_commit";
  run_fake_job(dir_.path(), other);
  const std::vector<std::string> parts = {path_, other.final_path(dir_.path())};
  const std::string combined = dir_.file("combined.npy");
  EXPECT_EQ(code_of([&] { combine_finals(parts, combined, "all"); }), "store.combine_rows");
  ChunkStore::open(dir_.path(), other.identity, 4, ChunkStore::Open::kResume)
      ->assemble(parts[1],
                 {.format = {}, .quarantine = QuarantinePolicy::kDrop, .set_aside = rows_}, {});
  combine_finals(parts, combined, "all");
  EXPECT_EQ(read_npy_header(combined).rows, 27);
  EXPECT_EQ(read_manifest(combined).value().vectors(), 27);
  EXPECT_EQ(final_state(combined, combined_identity(parts, "all"), true), FinalState::kValid);
}

class SetAsideOfSeveralVectors : public SetAside, public ::testing::WithParamInterface<bool> {};

TEST_P(SetAsideOfSeveralVectors, CannotBeDropped) {
  job_ = GetParam() ? passages_job() : token_embeddings_job();
  const auto store = open();
  for (const int64_t index : store->pending()) commit_chunk(*store, index, job_.identity);
  const FinalContent content = {
      .format = {}, .quarantine = QuarantinePolicy::kDrop, .set_aside = {bad_row(3)}};
  EXPECT_EQ(code_of([&] { store->assemble(dir_.file("x.npy"), content, {}); }), "store.misuse");
}

INSTANTIATE_TEST_SUITE_P(Kinds, SetAsideOfSeveralVectors, ::testing::Bool());

}  // namespace
}  // namespace encode::testing
