#include "store/verify/verify.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "store/parts_list.h"
#include "store/verify/chunk_check.h"
#include "store/verify/matrix_check.h"
#include "store/verify/verify_findings.h"

namespace encode {
namespace {

bool exists(const std::string& path) { return path_exists(path, "npy.open"); }

// Checks that the file at `path` is the part that the list describes.
void check_part(const PartsList::Entry& part, const std::string& path, Findings& findings) {
  std::optional<Manifest> manifest;
  try {
    manifest = read_manifest(path);
  } catch (const Error& error) {  // check_matrix() has reported it
    if (!tells_about_the_file(error)) throw;
  }
  if (!manifest) return;
  const auto describe = [](RowRange rows, const std::string& hash) {
    return fmt::format("rows {} to {}, XXH3-128 {}", rows.begin, rows.end - 1, hash);
  };
  const std::string expected = describe(part.rows, part.seal.xxh3_128);
  const std::string found = describe(manifest->identity.range(), manifest->xxh3_128);
  findings.check("part", expected == found, {.expected = expected, .found = found}, path);
}

// Checks the list of the parts of a merged matrix, and every part.
void check_parts(const ExpectedMatrix& matrix, const Audit& audit, VerifyReport& report) {
  const std::string list_path = parts_list_path(matrix.path);
  std::optional<PartsList> list;
  report.in_shards = true;
  {
    Findings findings(matrix.name, report.findings);
    try {
      list = read_parts_list(list_path);
      findings.check("parts", true, {.expected = "a list of all rows", .found = "the same"});
    } catch (const Error& error) {
      if (!tells_about_the_file(error)) throw;
      findings.check("parts", false,
                     {.expected = "a list of all rows", .found = error.detail().what}, list_path);
      return;
    }
    if (matrix.rows)
      findings.check(
          "rows", *matrix.rows == list->identity.rows,
          {.expected = fmt::to_string(*matrix.rows), .found = fmt::to_string(list->identity.rows)},
          "the input has another number of rows");
    if (matrix.fingerprint)
      findings.check_fingerprint("fingerprint", list->identity, *matrix.fingerprint, list_path);
  }
  for (const PartsList::Entry& part : list->parts) {
    const ExpectedMatrix expected = {.name = part.file,
                                     .path = parent_directory(list_path) + "/" + part.file,
                                     .rows = part.rows.size(),
                                     .dim = list->identity.dim,
                                     .format = matrix.format,
                                     .quarantine = matrix.quarantine};
    check_matrix(expected, audit, report);
    Findings findings(part.file, report.findings);
    check_part(part, expected.path, findings);
  }
}

void check_groups(const std::vector<ExpectedMatrix>& matrices, VerifyReport& report) {
  std::map<std::string, const MatrixSummary*> first_of_group;
  for (const ExpectedMatrix& matrix : matrices) {
    const auto found = std::ranges::find(report.matrices, matrix.name, &MatrixSummary::name);
    if (found == report.matrices.end()) continue;  // a merged matrix: its parts have summaries
    const MatrixSummary& summary = *found;
    // Skips a file that could not be read, which has the dim 0.
    if (matrix.group.empty() || summary.dim == 0) continue;
    const MatrixSummary* first = first_of_group.emplace(matrix.group, &summary).first->second;
    if (first == &summary) continue;
    Findings(matrix.name, report.findings)
        .check("group_rows", first->input_rows == summary.input_rows,
               {.expected = fmt::format(
                    "{}, as in {}", format_count(first->input_rows, "row", "rows"), first->name),
                .found = format_count(summary.input_rows, "row", "rows")},
               "all inputs of one split must have the same number of rows");
  }
}

}  // namespace

ExitCode VerifyReport::exit_code() const {
  bool missing = false;
  for (const Finding& finding : findings) {
    if (finding.status != CheckStatus::kFailed) continue;
    if (finding.check != "exists") return ExitCode::kData;
    missing = true;
  }
  return missing ? ExitCode::kNoInput : ExitCode::kOk;
}

VerifyReport verify_run(const std::vector<ExpectedMatrix>& matrices, const std::string& cache_dir,
                        const VerifyOptions& options) {
  VerifyReport report;
  report.in_shards = options.in_shards;
  for (const ExpectedMatrix& matrix : matrices) {
    const Audit audit = {.options = options, .cache_dir = cache_dir};
    const bool merged = is_parts_list(matrix.path) ||
                        (!exists(matrix.path) && exists(parts_list_path(matrix.path)));
    if (merged) {
      check_parts(matrix, audit, report);
      continue;
    }
    const bool complete = check_matrix(matrix, audit, report);
    if (cache_dir.empty()) continue;
    Findings findings(matrix.name, report.findings);
    check_chunk_folder(matrix, cache_dir, complete, findings);
  }
  check_groups(matrices, report);
  if (!cache_dir.empty()) {
    Findings findings("", report.findings);
    check_cache_dir(cache_dir, findings);
  }
  return report;
}

VerifyReport verify_files(const std::vector<std::string>& paths, const VerifyOptions& options) {
  VerifyReport report;
  for (const std::string& path : paths) {
    const ExpectedMatrix matrix = {.name = std::filesystem::path(path).filename().string(),
                                   .path = path};
    const Audit audit = {.options = options, .cache_dir = ""};
    if (is_parts_list(path)) {
      check_parts(matrix, audit, report);
    } else {
      check_matrix(matrix, audit, report);
    }
  }
  return report;
}

}  // namespace encode
