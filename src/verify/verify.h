// Audits the files on disk. It reads the published files whole and does not trust what the run
// reported about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/types.h"

namespace encode {

// What the caller knows about one matrix. A field without a value is not checked.
struct ExpectedMatrix {
  std::string name;  // the stream, "train_tc"; its chunks are in <cache>/train_tc_chunks
  std::string path;
  std::string group;  // the split; the inputs of one group must have equal rows; "": no group
  std::optional<int64_t> rows;  // the number of rows of the input
  std::optional<int64_t> dim;
  std::optional<std::string> fingerprint;  // canonical JSON, as in StreamIdentity
  std::optional<FinalFormat> format = {};
};

struct VerifyOptions {
  bool sha256 = false;  // also compute the SHA-256 of each file
};

enum class CheckStatus { kOk, kWarning, kFailed };

// The result of one check of one matrix. `check` is a stable name; docs/store-format.md lists all.
struct Finding {
  std::string matrix;
  std::string check;
  CheckStatus status = CheckStatus::kOk;
  std::string expected;
  std::string found;
  std::string detail;
};

// Euclidean norms of the rows that are finite.
struct NormSummary {
  double min = 0;
  double mean = 0;
  double max = 0;
};

// The facts measured in a matrix file. All numbers are 0 if the file could not be read. The counts
// of non-finite and zero rows and the norms are 0 for a matrix of integers.
struct MatrixSummary {
  std::string name;
  std::string path;
  int64_t rows = 0;        // the rows of the file; with token embeddings, its vectors
  int64_t input_rows = 0;  // the rows of the input, which differ from `rows` with token embeddings
  int64_t dim = 0;         // the columns of the file; for binary and ubinary, the bytes of a row
  std::string dtype;       // the element type of the file: "<f4", "<f2", "|i1", "|u1"
  int64_t file_bytes = 0;
  int64_t non_finite_rows = 0;
  int64_t zero_rows = 0;
  NormSummary norms;
  std::string xxh3_128;
  std::string sha256;          // "" unless VerifyOptions::sha256
  int64_t truncated_rows = 0;  // from the manifest
  int64_t lost_tokens = 0;     // from the manifest
  // The ledger of the truncated rows; "" without a manifest, and for a combined matrix.
  std::string ledger_path = {};
};

struct VerifyReport {
  std::vector<MatrixSummary> matrices;
  std::vector<Finding> findings;

  // kOk; kNoInput if the only failed checks are about matrices that do not exist; else kData.
  // Warnings do not count.
  ExitCode exit_code() const;
};

// Checks the matrices and, if `cache_dir` is not "", their chunk folders and the cache directory.
// Uses a few MB of memory. Reports damage as findings. Throws Error only if the file system does
// not let it read a file: kNoPermission, kOsError, kIoError.
VerifyReport verify_run(const std::vector<ExpectedMatrix>& matrices, const std::string& cache_dir,
                        const VerifyOptions& options);
// Checks files about which only their manifests are known. A file without a manifest gives a
// warning. Throws as verify_run() does.
VerifyReport verify_files(const std::vector<std::string>& paths, const VerifyOptions& options);

// Returns a report for people: an aligned table with one line for each matrix, then the warnings
// and the failed checks. It ends in '\n'.
std::string render_table(const VerifyReport& report);
// Returns a report for programs: {"exit_code":..,"matrices":[..],"findings":[..]} on one line,
// without '\n'.
std::string render_json(const VerifyReport& report);

}  // namespace encode
