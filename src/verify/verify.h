// An audit of what is on disk: it reads the very files that users get, whole, and trusts no result
// of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/types.h"

namespace encode {

// What the caller knows about one matrix; what it does not know is not checked.
struct ExpectedMatrix {
  std::string name;  // of the stream, "train_tc": chunks are looked for in <cache>/train_tc_chunks
  std::string path;
  std::string group;            // matrices of one group (a split) must have equal rows; "": none
  std::optional<int64_t> rows;  // of the input
  std::optional<int64_t> dim;
  std::optional<std::string> fingerprint;  // canonical JSON, as in StreamIdentity
  std::optional<FinalFormat> format = {};
};

struct VerifyOptions {
  bool sha256 = false;  // also compute SHA-256, to hand the files over
};

enum class CheckStatus { kOk, kWarning, kFailed };

// One check of one matrix. `check` is a stable word, listed in docs/store-format.md.
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

// What was measured of a matrix; zeros where it could not be read. Rows of integers are counted and
// hashed; norms are of floating-point rows.
struct MatrixSummary {
  std::string name;
  std::string path;
  int64_t rows = 0;
  int64_t dim = 0;    // columns of the file: bytes of packed bits for binary and ubinary
  std::string dtype;  // of the file: "<f4", "<f2", "|i1", "|u1"
  int64_t file_bytes = 0;
  int64_t non_finite_rows = 0;
  int64_t zero_rows = 0;
  NormSummary norms;
  std::string xxh3_128;
  std::string sha256;          // "" unless asked for
  int64_t truncated_rows = 0;  // as the manifest says
  int64_t lost_tokens = 0;
  std::string ledger_path = {};  // names them; "" without a manifest, and for a combined matrix
};

struct VerifyReport {
  std::vector<MatrixSummary> matrices;
  std::vector<Finding> findings;

  // kOk, kData where something is damaged, kNoInput where the only fault is that files are missing.
  ExitCode exit_code() const;
};

// Checks the matrices and, where `cache_dir` is not "", their chunk folders and what lies beside
// them. Memory: a few MB. Damage is reported, never thrown; throws Error only where a file may not
// be read (kNoPermission, kOsError).
VerifyReport verify_run(const std::vector<ExpectedMatrix>& matrices, const std::string& cache_dir,
                        const VerifyOptions& options);
// The same for files about which nothing is known but their manifests; one without a manifest gives
// a warning.
VerifyReport verify_files(const std::vector<std::string>& paths, const VerifyOptions& options);

// For people: an aligned table, one line a matrix, then what is wrong. Ends in '\n'.
std::string render_table(const VerifyReport& report);
// For programs: {"exit_code":..,"matrices":[..],"findings":[..]}, one line, no '\n'.
std::string render_json(const VerifyReport& report);

}  // namespace encode
