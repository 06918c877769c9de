#include "store/verify/verify.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/npy.h"
#include "base/own_cache.h"
#include "base/refused.h"
#include "store/fake_job.h"
#include "store/verify/compare.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> checks_with(const VerifyReport& report, CheckStatus status) {
  std::vector<std::string> checks;
  for (const Finding& finding : report.findings)
    if (finding.status == status) checks.push_back(finding.check);
  return checks;
}

std::vector<std::string> failed(const VerifyReport& report) {
  return checks_with(report, CheckStatus::kFailed);
}
std::vector<std::string> warned(const VerifyReport& report) {
  return checks_with(report, CheckStatus::kWarning);
}

// A finished run with two streams of one split, and with the combined matrix of both.
class Verify : public ::testing::Test {
 protected:
  Verify() {
    tc_.identity.fingerprint = R"({"result":{"normalize":true}})";
    commit_.identity = {
        .name = "train_commit", .fingerprint = tc_.identity.fingerprint, .rows = 30, .dim = 3};
    run_fake_job(dir_.path(), tc_);
    run_fake_job(dir_.path(), commit_);
    combine_finals({path_of(tc_), path_of(commit_)}, combined_, "train_combined");
  }

  std::string path_of(const FakeJob& job) const { return job.final_path(dir_.path()); }

  ExpectedMatrix expected(const FakeJob& job) const {
    return {.name = job.identity.name,
            .path = path_of(job),
            .group = "train",
            .rows = job.identity.rows,
            .dim = job.identity.dim,
            .fingerprint = job.identity.fingerprint};
  }

  std::vector<ExpectedMatrix> all() const {
    return {expected(tc_),
            expected(commit_),
            {.name = "train_combined",
             .path = combined_,
             .group = "train",
             .rows = 30,
             .dim = 7,
             .fingerprint = {}}};
  }

  VerifyReport verify() const { return verify_run(all(), dir_.path(), {}); }

  void set_value(const std::string& path, size_t index, float value) {
    std::string bytes = read_bytes(path);
    std::memcpy(bytes.data() + kNpyHeaderBytes + index * sizeof value, &value, sizeof value);
    write_bytes(path, bytes);
  }

  // Publishes a final matrix with two columns and the given values, and its manifest.
  std::string publish(const std::vector<float>& values, const RowStats& stats) {
    const std::string path = dir_.file("other.npy");
    const StreamIdentity identity = {.name = "other",
                                     .fingerprint = R"({"result":{"normalize":true}})",
                                     .rows = static_cast<int64_t>(values.size()) / 2,
                                     .dim = 2};
    const auto writer = begin_final(path, identity);
    writer->append(values);
    writer->publish(stats, {.device = "cpu"});
    return path;
  }

  // Makes a matrix of 30 rows without one of them.
  std::string matrix_without(int64_t row) const {
    FakeJob job;
    job.keep_chunks = true;
    const std::string folder = dir_.file(fmt::format("without_{}", row));
    run_fake_job(folder, job);
    ChunkStore::open(folder, job.identity, job.chunk_rows, ChunkStore::Open::kResume)
        ->assemble(job.final_path(folder),
                   {.format = {},
                    .quarantine = QuarantinePolicy::kDrop,
                    .set_aside = {{.row = row, .code = "device.cuda", .message = "m"}}},
                   {});
    return job.final_path(folder);
  }

  const TempDir dir_;
  FakeJob tc_;
  FakeJob commit_;
  const std::string combined_ = final_path(dir_.path(), "train_combined");
};

TEST_F(Verify, FinishedRunIsGreen) {
  const VerifyReport report = verify();
  EXPECT_THAT(failed(report), IsEmpty()) << render_table(report);
  EXPECT_THAT(warned(report), IsEmpty()) << render_table(report);
  EXPECT_EQ(report.exit_code(), ExitCode::kOk);
  EXPECT_NEAR(report.matrices[0].norms->mean, 1, 1e-6);
  EXPECT_NEAR(report.matrices[2].norms->mean, std::sqrt(2), 1e-6);
}

TEST_F(Verify, NormsOfIntegersAreThoseOfTheNumbersThatTheyStandFor) {
  const std::string path = dir_.file("int8.npy");
  reformat_final(path_of(tc_), path, {.type = OutputType::kInt8, .ranges_file = ""}, {});
  const VerifyReport report = verify_files({path}, {});
  EXPECT_THAT(failed(report), IsEmpty()) << render_table(report);
  const NormSummary norms = report.matrices[0].norms.value();
  for (const double norm : {norms.min, norms.mean, norms.max}) EXPECT_NEAR(norm, 1, 0.02);
  std::filesystem::remove(ranges_path(path));
  const VerifyReport without = verify_files({path}, {});
  EXPECT_THAT(failed(without), ElementsAre("ranges"));
  EXPECT_FALSE(without.matrices[0].norms.has_value()) << "nothing says what the integers stand for";
}

TEST_F(Verify, BitsHaveNoNorms) {
  const std::string path = dir_.file("ubinary.npy");
  reformat_final(path_of(tc_), path, {.type = OutputType::kUbinary, .ranges_file = ""}, {});
  const VerifyReport report = verify_files({path}, {});
  EXPECT_THAT(failed(report), IsEmpty()) << render_table(report);
  EXPECT_THAT(render_table(report), HasSubstr("uint8  158 B         -     -    -  "));
  const Json matrix = Json::parse(render_json(report))["matrices"][0];
  EXPECT_EQ(matrix["dtype"], "|u1") << "programs get the name that NumPy has in the file";
  EXPECT_TRUE(matrix["norm_mean"].is_null());
}

// Without the list, the rows of the vectors are not known.
TEST_F(Verify, DroppedRowsMustBeListedAlsoForACombinedMatrix) {
  const std::string matrix = matrix_without(3);
  const std::string combined = dir_.file("without_3/combined.npy");
  combine_finals({matrix, matrix}, combined, "all");
  EXPECT_THAT(failed(verify_files({matrix, combined}, {})), IsEmpty());
  std::filesystem::remove(set_aside_path(matrix));
  for (const std::string& path : {matrix, combined})
    EXPECT_THAT(failed(verify_files({path}, {})), Contains("dropped_rows")) << path;
}

// Vector 3 is row 4 of one matrix and row 3 of the other.
TEST_F(Verify, MatricesThatLackDifferentRowsAreNotCompared) {
  const std::string matrix = matrix_without(3);
  EXPECT_TRUE(compare_matrices(matrix, matrix, {}).identical);
  const ErrorDetail error = refused([&] { compare_matrices(matrix, matrix_without(4), {}); });
  EXPECT_EQ(error.code.name(), "compare.shape");
  EXPECT_EQ(error.what, "matrices that lack different rows cannot be compared");
}

TEST_F(Verify, AnyChangedByteOfAFinalIsDamage) {
  const std::string whole = read_bytes(path_of(tc_));
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    write_bytes(path_of(tc_), bytes);
    EXPECT_EQ(verify_files({path_of(tc_)}, {}).exit_code(), ExitCode::kData) << "byte " << byte;
  }
}

TEST_F(Verify, AnyChangedByteOfAManifestIsDamage) {
  const std::string path = manifest_path(path_of(tc_));
  const std::string whole = read_bytes(path);
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    write_bytes(path, bytes);
    EXPECT_EQ(verify_files({path_of(tc_)}, {}).exit_code(), ExitCode::kData) << "byte " << byte;
  }
}

TEST_F(Verify, AnyChangedByteOfALedgerIsDamageAndSoIsNone) {
  const std::string path = ledger_path(path_of(tc_));
  const std::string whole = read_bytes(path);
  EXPECT_THAT(render_table(verify_files({path_of(tc_)}, {})),
              HasSubstr("4 rows, 58 tokens lost: " + path));
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    write_bytes(path, bytes);
    EXPECT_EQ(verify_files({path_of(tc_)}, {}).exit_code(), ExitCode::kData) << "byte " << byte;
  }
  std::filesystem::remove(path);
  EXPECT_THAT(failed(verify_files({path_of(tc_)}, {})), ElementsAre("truncation_ledger"));
}

TEST_F(Verify, AMatrixWithoutTruncatedRowsNeedsNoLedger) {
  const std::string path = path_of(tc_);
  for (const bool counted : {false, true}) {
    const auto writer = begin_final(path, tc_.identity);
    const RowRange rows = {.begin = 0, .end = tc_.identity.rows};
    writer->append(fake_rows(rows, tc_.identity.dim));
    writer->publish(counted ? fake_stats(rows) : RowStats{.tokens = 210}, {.device = "cpu"});
    const VerifyReport report = verify_files({path}, {});
    EXPECT_EQ(report.exit_code(), counted ? ExitCode::kData : ExitCode::kOk);
    EXPECT_EQ(failed(report).size(), counted ? 1 : 0);
    EXPECT_EQ(report.matrices[0].ledger_path, "");
  }
}

TEST_F(Verify, AnyChangedByteInAChunkFolderIsNoticed) {
  const std::string folder = chunks_dir(dir_.path(), tc_.identity.name);
  for (const char* name :
       {"/chunk_0003.npy", "/chunk_0000.truncated.jsonl", "/chunks.log", "/stream.json"}) {
    const std::string whole = read_bytes(folder + name);
    for (size_t byte = 0; byte < whole.size(); ++byte) {
      std::string bytes = whole;
      bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
      write_bytes(folder + name, bytes);
      const VerifyReport report = verify_run({expected(tc_)}, dir_.path(), {});
      EXPECT_FALSE(failed(report).empty() && warned(report).empty()) << name << " byte " << byte;
    }
    write_bytes(folder + name, whole);
  }
}

TEST_F(Verify, MissingFinalIsMissingAndNotDamage) {
  std::filesystem::remove(path_of(commit_));
  std::filesystem::remove(manifest_path(path_of(commit_)));
  const VerifyReport report = verify_run({expected(tc_), expected(commit_)}, dir_.path(), {});
  EXPECT_THAT(failed(report), ElementsAre("exists"));
  EXPECT_EQ(report.exit_code(), ExitCode::kNoInput);
}

TEST_F(Verify, MatrixWithoutManifestIsAFailure) {
  EXPECT_EQ(verify_files({path_of(tc_)}, {}).exit_code(), ExitCode::kOk);
  std::filesystem::remove(manifest_path(path_of(tc_)));
  for (const VerifyReport& report :
       {verify_run({expected(tc_)}, "", {}), verify_files({path_of(tc_)}, {})}) {
    EXPECT_THAT(failed(report), ElementsAre("manifest"));
    EXPECT_EQ(report.exit_code(), ExitCode::kData);
  }
}

TEST_F(Verify, RowsDimAndFingerprintAreComparedWithWhatTheConfigSays) {
  ExpectedMatrix matrix = expected(tc_);
  matrix.rows = 31;
  matrix.dim = 5;
  matrix.fingerprint = R"({"result":{"normalize":false}})";
  const VerifyReport report = verify_run({matrix}, "", {});
  EXPECT_THAT(failed(report), ElementsAre("rows", "dim", "fingerprint"));
  EXPECT_THAT(render_table(report),
              HasSubstr("result.normalize: cache has true, this run has false"));
}

TEST_F(Verify, AMatrixWithZerosForRowsFitsOnlyTheConfigThatAsksForThem) {
  ExpectedMatrix matrix = expected(tc_);
  for (const auto policy :
       {QuarantinePolicy::kError, QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
    matrix.quarantine = policy;
    EXPECT_THAT(failed(verify_run({matrix}, "", {})), IsEmpty()) << "no row was set aside";
  }
  FakeJob with_zeros;
  with_zeros.identity.name = "train_zeros";
  with_zeros.set_aside = {3, 7};
  run_fake_job(dir_.path(), with_zeros);
  matrix = expected(with_zeros);
  matrix.quarantine = QuarantinePolicy::kZeros;
  EXPECT_THAT(failed(verify_run({matrix}, "", {})), IsEmpty());
  for (const auto policy : {QuarantinePolicy::kError, QuarantinePolicy::kDrop}) {
    matrix.quarantine = policy;
    const VerifyReport report = verify_run({matrix}, "", {});
    EXPECT_THAT(failed(report), ElementsAre("quarantine"));
    EXPECT_EQ(report.exit_code(), ExitCode::kData);
  }
}

TEST_F(Verify, RowsWithinASplitMustBeEqual) {
  FakeJob shorter;
  shorter.identity = {.name = "train_note", .fingerprint = R"({"seed":3})", .rows = 29, .dim = 3};
  run_fake_job(dir_.path(), shorter);
  const VerifyReport report = verify_run({expected(tc_), expected(shorter)}, dir_.path(), {});
  EXPECT_THAT(failed(report), ElementsAre("group_rows"));
}

TEST_F(Verify, RowsWithinASplitAreRowsOfTheInputEvenIfTheyHaveManyVectors) {
  FakeJob tokens = token_embeddings_job();
  tokens.identity.name = "train_tokens";
  run_fake_job(dir_.path(), tokens);
  const VerifyReport report = verify_run({expected(tc_), expected(tokens)}, dir_.path(), {});
  EXPECT_NE(report.matrices[0].rows, report.matrices[1].rows);
  EXPECT_THAT(failed(report), IsEmpty()) << render_table(report);
}

TEST_F(Verify, NonFiniteValuesAreNamedByRow) {
  set_value(path_of(tc_), 5 * 4 + 1, std::numeric_limits<float>::quiet_NaN());
  set_value(path_of(tc_), 17 * 4, std::numeric_limits<float>::infinity());
  const VerifyReport report = verify_run({expected(tc_)}, "", {});
  EXPECT_THAT(failed(report), ElementsAre("checksum", "finite"));
  EXPECT_THAT(render_table(report), HasSubstr("rows 5, 17"));
}

TEST_F(Verify, ZeroRowsAreAllowedForRowsWithoutTokensOnly) {
  const std::vector<float> values = {1, 0, 0, 0, 0, 1};
  EXPECT_THAT(failed(verify_files({publish(values, {.zero_token_rows = 1})}, {})), IsEmpty());
  EXPECT_THAT(failed(verify_files({publish(values, {.zero_token_rows = 0})}, {})),
              ElementsAre("zero_rows"));
}

TEST_F(Verify, NormalizedRowsMustHaveNormOne) {
  const VerifyReport report = verify_files({publish({1, 0, 0.6F, 0.81F}, {})}, {});
  EXPECT_THAT(failed(report), ElementsAre("norms"));
  EXPECT_THAT(render_table(report), HasSubstr("row 1"));
}

TEST_F(Verify, CombinedMustEqualItsPartsEvenWhereTheManifestAgreesWithIt) {
  // Publishes a part again with other values, and leaves the combined matrix as it is.
  run_fake_job(dir_.path(), tc_);
  FakeJob other = tc_;
  other.identity.name = "train_other";
  StreamIdentity identity = tc_.identity;
  const auto writer = begin_final(path_of(tc_), identity);
  std::vector<float> rows = fake_rows({.begin = 0, .end = 30}, 4);
  std::swap_ranges(rows.begin() + 40, rows.begin() + 44, rows.begin() + 44);
  writer->append(rows);
  writer->publish({}, {.device = "cpu"});
  const VerifyReport report = verify_files({combined_}, {});
  EXPECT_THAT(failed(report), ElementsAre("parts"));
  EXPECT_THAT(render_table(report), HasSubstr("row 10 differs"));
}

TEST_F(Verify, UnfinishedStreamIsNotTiled) {
  FakeJob job;
  job.identity.name = "val_tc";
  const auto store = ChunkStore::open(dir_.path(), job.identity, job.chunk_rows, job.open);
  commit_chunk(*store, 1, job.identity.dim);
  const VerifyReport report = verify_run({expected(job)}, dir_.path(), {});
  EXPECT_THAT(failed(report), ElementsAre("exists", "chunk_tiling"));
}

TEST_F(Verify, AnUnfinishedRunPointsToItsStatus) {
  const std::string advice = "`encode status " + dir_.path() + "` says how far it is";
  EXPECT_THAT(render_table(verify()), Not(HasSubstr("encode status")));
  std::filesystem::remove(path_of(tc_));
  EXPECT_THAT(render_table(verify()), HasSubstr(advice));
  EXPECT_THAT(render_table(verify_run(all(), dir_.file("elsewhere"), {})),
              Not(HasSubstr("encode status")));
  const std::string output = dir_.file("books.npy");
  EXPECT_THAT(render_table(verify_files({output}, {})), Not(HasSubstr("encode status")));
  CacheLock::acquire(own_cache_dir(output));
  EXPECT_THAT(render_table(verify_files({output}, {})),
              HasSubstr("`encode status " + output + "` says how far it is"));
}

TEST_F(Verify, StrayFilesAreWarnings) {
  dir_.write("train_tc_chunks/.chunk_0001.npy.tmp.7.0123456789abcdef", "half");
  dir_.write("train_tc_chunks/chunk_0099.npy", "stray");
  dir_.write(".train_tc_embeddings.npy.tmp.7.0123456789abcdef", "half");
  const VerifyReport report = verify();
  EXPECT_THAT(warned(report), ElementsAre("chunk_strays", "chunk_strays", "cache_strays"));
  EXPECT_EQ(report.exit_code(), ExitCode::kOk);
}

TEST_F(Verify, Sha256IsThatOfTheFile) {
  const VerifyReport report = verify_files({path_of(tc_)}, {.sha256 = true});
  EXPECT_EQ(report.matrices[0].sha256, sha256_hex(read_file(path_of(tc_), 1 << 20, "io.read")));
  EXPECT_THAT(render_table(report), HasSubstr("sha256  " + report.matrices[0].sha256));
}

TEST_F(Verify, JsonSaysTheSame) {
  set_value(path_of(tc_), 0, 0.5F);
  const VerifyReport report = verify();
  const Json json = Json::parse(render_json(report));
  EXPECT_EQ(json["exit_code"], 65);
  EXPECT_EQ(json["matrices"].size(), 3U);
  EXPECT_EQ(json["findings"].size(), report.findings.size());
}

TEST_F(Verify, OtherFilesAreNoMatrices) {
  EXPECT_THAT(failed(verify_files({dir_.write("a.npy", "a text")}, {})), ElementsAre("header"));
  EXPECT_THAT(failed(verify_files({dir_.path()}, {})), ElementsAre("header")) << "a directory";
  EXPECT_EQ(verify_files({dir_.file("none.npy")}, {}).exit_code(), ExitCode::kNoInput);
}

}  // namespace
}  // namespace encode::testing
