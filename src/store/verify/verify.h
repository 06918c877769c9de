// Audits the files on disk. An audit reads the published files completely, and does not rely on the
// report of the run. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/types.h"

#include "base/output_types.h"

namespace encode {

// What the caller knows about one matrix. A field without a value is not checked.
struct ExpectedMatrix {
  std::string name;  // the stream, e.g. "train_tc"; its chunks are in <cache>/train_tc_chunks
  std::string path;
  // The split, or "". The inputs of a group must have the same number of rows.
  std::string group = {};
  std::optional<int64_t> rows = {};  // the number of rows of the input
  std::optional<int64_t> dim = {};
  std::optional<std::string> fingerprint = {};  // canonical JSON, as in StreamIdentity
  std::optional<FinalFormat> format = {};
  std::optional<QuarantinePolicy> quarantine = {};
};

struct VerifyOptions {
  bool sha256 = false;     // also compute the SHA-256 of each file
  bool in_shards = false;  // the matrices are those of an experiment in shards
};

enum class CheckStatus { kOk, kWarning, kFailed };

// The result of one check of one matrix. `check` is the name of the check, which never changes.
// docs/store-format.md lists all names.
struct Finding {
  std::string matrix;
  std::string check;
  CheckStatus status = CheckStatus::kOk;
  std::string expected;
  std::string found;
  std::string detail;
};

// The Euclidean norms of the rows that have only finite values. They are the norms of the numbers
// that the rows stand for (StoredValues).
struct NormSummary {
  double min = 0;
  double mean = 0;
  double max = 0;
};

// What was measured in a matrix file. All numbers are 0 if the file could not be read. For a matrix
// of integers, the counts of non-finite rows and of zero rows are 0.
struct MatrixSummary {
  std::string name;
  std::string path;
  int64_t rows = 0;        // the rows of the file; with token embeddings, its vectors
  int64_t input_rows = 0;  // the rows of the input, which differ from `rows` with token embeddings
  int64_t dim = 0;         // the columns of the file; for binary and ubinary, the bytes of a row
  std::optional<ItemType> item = {};  // of the file; empty if it cannot be read
  MatrixFormat format = MatrixFormat::kNpy;
  std::vector<std::string> columns = {};  // the other columns of a table
  int64_t file_bytes = 0;
  int64_t non_finite_rows = 0;
  int64_t zero_rows = 0;
  // nullopt if no row is finite, for integers if their ranges cannot be read, and for bits, because
  // all their rows have the same norm.
  std::optional<NormSummary> norms = {};
  std::string xxh3_128 = {};
  std::string sha256 = {};     // "" unless VerifyOptions::sha256 is true
  int64_t truncated_rows = 0;  // from the manifest
  int64_t lost_tokens = 0;     // from the manifest
  // The path of the truncation ledger, or "" if the matrix has none.
  std::string ledger_path = {};
};

struct VerifyReport {
  std::vector<MatrixSummary> matrices;
  std::vector<Finding> findings;
  std::string command = {};  // for a shell: makes the failed matrices again; "": not known
  bool in_shards = false;    // a merge makes the matrices

  // Returns kOk if no check failed, kNoInput if all failed checks are about matrices that do not
  // exist, and kData otherwise. Warnings do not count.
  ExitCode exit_code() const;
};

// Checks the matrices and, if `cache_dir` is not "", their chunk folders and the cache directory.
// Needs a few MB of memory. Reports damage as findings. If the file system does not let it read a
// file, throws Error kNoPermission, kOsError or kIoError.
VerifyReport verify_run(const std::vector<ExpectedMatrix>& matrices, const std::string& cache_dir,
                        const VerifyOptions& options);
// Checks the matrices in a folder: those that have a manifest, those that a list of parts names,
// and those that a run in this folder has begun. Throws what verify_run() throws, and Error
// kNoInput "npy.open" if there are none.
VerifyReport verify_folder(const std::string& folder, const VerifyOptions& options);
// Throws Error kNoInput "npy.open" if there is no such file. Its hint names the run that has begun
// the matrix, if there is one.
void require_matrix_file(const std::string& path);
// Checks matrix files against their manifests, without a config. Throws what verify_run() throws.
VerifyReport verify_files(const std::vector<std::string>& paths, const VerifyOptions& options);

// Returns a sentence that says what to do about the failed checks; "" if no check failed.
std::string next_step(const VerifyReport& report);

// Returns a report for people: an aligned table with one line for each matrix, then the warnings
// and the failed checks. It ends in '\n'. If the table is wider than `columns`, the name of each
// matrix has a line of its own; 0: there is no limit.
std::string render_table(const VerifyReport& report, size_t columns = 0);
// Returns a report for programs on one line, without '\n':
// {"exit_code":..,"matrices":[..],"findings":[..],"next":".."}.
std::string render_json(const VerifyReport& report);

}  // namespace encode
