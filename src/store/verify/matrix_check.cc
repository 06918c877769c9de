#include "store/verify/matrix_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"
#include "encode/vector_rows.h"

#include "base/path_kind.h"
#include "base/units.h"
#include "columnar/matrix_reader.h"
#include "store/audit.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"
#include "store/verify/chunk_check.h"
#include "store/verify/matrix_scan.h"
#include "store/verify/verify_findings.h"

namespace encode {
namespace {

std::string shape_text(int64_t rows, int64_t dim) { return fmt::format("{} x {}", rows, dim); }

// Returns advice for a matrix that is not finished, or "".
std::string advice_on(const ExpectedMatrix& matrix, const Audit& audit) {
  return audit.options.in_shards ? "`encode merge` makes it from the parts of the shards"
                                 : advice_on_unfinished(matrix.path, audit.cache_dir);
}

std::optional<MatrixScan> check_file(const ExpectedMatrix& matrix, const Audit& audit,
                                     Findings& findings) {
  if (!path_exists(matrix.path, "npy.open")) {
    const std::string advice = advice_on(matrix, audit);
    findings.check("exists", false, {.expected = "a file", .found = "none"},
                   advice.empty() ? matrix.path : fmt::format("{}: {}", matrix.path, advice));
    return std::nullopt;
  }
  try {
    MatrixScan scan = scan_matrix(matrix.path, audit.options);
    scan.summary.name = matrix.name;
    findings.check("exists", true, {.expected = "a file", .found = "a file"});
    findings.check("header", true,
                   {.expected = scan.summary.format == MatrixFormat::kNpy
                                    ? "a .npy file of the size that its shape gives"
                                    : "a table with a column of vectors",
                    .found = shape_text(scan.summary.rows, scan.summary.dim)});
    return scan;
  } catch (const Error& error) {
    if (!tells_about_the_file(error)) throw;
    const ErrorDetail& detail = error.detail();
    findings.check(
        "header", false,
        {.expected = detail.expected, .found = detail.found.empty() ? detail.what : detail.found},
        fmt::format("{}: {}", matrix.path, detail.what));
    return std::nullopt;
  }
}

void check_values(const MatrixScan& scan, const std::optional<Manifest>& manifest,
                  Findings& findings) {
  const MatrixSummary& summary = scan.summary;
  findings.check("finite", summary.non_finite_rows == 0,
                 {.expected = "no row with NaN or infinity",
                  .found = fmt::format("{} such rows", summary.non_finite_rows)},
                 list_rows(scan.non_finite_examples, summary.non_finite_rows));
  const bool floating = summary.item && facts_of(*summary.item).floating;
  if (!manifest || !floating) return;
  int64_t allowed = manifest->stats.zero_token_rows;
  if (manifest->quarantine == QuarantinePolicy::kZeros) allowed += manifest->stats.set_aside_rows;
  findings.check(
      "zero_rows", summary.zero_rows <= allowed,
      {.expected = fmt::format("at most {} zero rows, one for each row without tokens or set aside",
                               allowed),
       .found = fmt::format("{} zero rows", summary.zero_rows)},
      list_rows(scan.zero_examples, summary.zero_rows));
  const bool normalized =
      manifest->parts.empty() && says_normalized(manifest->identity.fingerprint);
  if (!normalized) return;
  findings.check("norms", scan.off_unit_rows == 0,
                 {.expected = "norm 1 within 0.001 in every row that is not zero",
                  .found = format_count(scan.off_unit_rows, "row", "rows") + " with another norm"},
                 list_rows(scan.off_unit_examples, scan.off_unit_rows));
}

// Describes a table by its format and the names of its columns. A file does not say where the
// values of its columns come from.
std::string describe_table(MatrixFormat file, const std::vector<std::string>& names) {
  std::string text(to_string(file));
  for (const std::string& name : names) text += fmt::format(", '{}'", preview(name));
  return text;
}

void check_against_manifest(const MatrixSummary& summary, const Manifest& manifest,
                            Findings& findings) {
  const std::string expected = fmt::format("{} x {} {}", manifest.vectors(), manifest.columns,
                                           item_facts(manifest.type).word);
  const std::string found =
      fmt::format("{} x {} {}", summary.rows, summary.dim, facts_of(*summary.item).word);
  findings.check("manifest_shape", expected == found, {.expected = expected, .found = found},
                 summary.path);
  if (manifest.file != MatrixFormat::kNpy || summary.format != MatrixFormat::kNpy) {
    std::vector<std::string> names;
    for (const TableColumn& column : manifest.table_columns) names.push_back(column.name);
    const std::string wanted = describe_table(manifest.file, names);
    const std::string there = describe_table(summary.format, summary.columns);
    findings.check("columns", wanted == there, {.expected = wanted, .found = there}, summary.path);
  }
  findings.check("checksum", summary.xxh3_128 == manifest.xxh3_128,
                 {.expected = manifest.xxh3_128, .found = summary.xxh3_128},
                 fmt::format("{}: the file was changed after it was written", summary.path));
  if (!has_ranges(manifest.type)) return;
  const bool fit = ranges_fit(summary.path, manifest);
  findings.check("ranges", fit,
                 {.expected = manifest.ranges_xxh3_128,
                  .found = fit ? manifest.ranges_xxh3_128 : "no file, or another checksum"},
                 ranges_path(summary.path));
}

// Reads the manifest. Adds a finding about it. Returns nullopt if it is missing or damaged.
std::optional<Manifest> check_manifest(const ExpectedMatrix& matrix, const Audit& audit,
                                       Findings& findings) {
  try {
    std::optional<Manifest> manifest = read_manifest(matrix.path);
    const std::string advice = advice_on(matrix, audit);
    findings.check("manifest", manifest.has_value(),
                   {.expected = "a manifest", .found = manifest ? "a manifest" : "none"},
                   advice.empty()
                       ? "encode did not finish this matrix, or its manifest was removed: the "
                         "content cannot be checked"
                       : advice);
    return manifest;
  } catch (const Error& error) {
    if (!tells_about_the_file(error)) throw;
    findings.check("manifest", false,
                   {.expected = "a valid manifest", .found = error.detail().what},
                   manifest_path(matrix.path));
    return std::nullopt;
  }
}

// Copies the counts of truncated rows and lost tokens into the summary, and checks the ledger.
void check_truncation(const std::string& path, const Manifest& manifest, MatrixSummary& summary,
                      Findings& findings) {
  summary.truncated_rows = manifest.stats.truncated_rows;
  summary.lost_tokens = manifest.stats.lost_tokens;
  if (!manifest.parts.empty()) return;  // the parts have the ledgers
  if (manifest.ledger) summary.ledger_path = ledger_path(path);
  const std::string wrong = check_ledger(path, manifest);
  findings.check("truncation_ledger", wrong.empty(),
                 {.expected = "the list of rows that the manifest describes, or none",
                  .found = wrong.empty() ? "the same" : wrong},
                 ledger_path(path));
}

// Checks the list of dropped rows. Without this list nobody knows to which row a vector belongs.
void check_dropped_rows(const std::string& path, const Manifest& manifest, Findings& findings) {
  const std::string expected = fmt::format("a list of {} dropped rows", manifest.dropped_rows);
  try {
    read_vector_rows(path, manifest);
    findings.check("dropped_rows", true, {.expected = expected, .found = "the list"});
  } catch (const Error& error) {
    if (!tells_about_the_file(error)) throw;
    findings.check("dropped_rows", false, {.expected = expected, .found = error.detail().what},
                   error.detail().where);
  }
}

// Checks the ledger of the rows that were set aside, and says how many there are.
void check_set_aside(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (manifest.quarantine == QuarantinePolicy::kError) return;
  findings.warn("set_aside", "a vector for every row",
                fmt::format("{} not be encoded ({})",
                            format_count(manifest.stats.set_aside_rows, "row could", "rows could"),
                            to_string(manifest.quarantine)),
                set_aside_path(path));
  if (manifest.dropped_rows > 0) check_dropped_rows(path, manifest, findings);
  if (!manifest.set_aside) return;
  const std::string wrong = check_sealed_file(set_aside_path(path), *manifest.set_aside);
  findings.check("set_aside_ledger", wrong.empty(),
                 {.expected = "the list of rows that the manifest describes",
                  .found = wrong.empty() ? "the same" : wrong},
                 set_aside_path(path));
}

// Checks the offsets file of a matrix whose rows have several vectors.
void check_row_offsets(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (!manifest.offsets) return;
  const std::string wrong = check_offsets(offsets_path(path), *manifest.offsets,
                                          manifest.identity.rows, manifest.vectors());
  findings.check("offsets", wrong.empty(),
                 {.expected = "ascending offsets, as the manifest describes them",
                  .found = wrong.empty() ? "the same" : wrong},
                 offsets_path(path));
}

// Checks the file with the places of the passages.
void check_passage_file(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (!manifest.passages) return;
  const std::string wrong =
      check_passages(passages_path(path), *manifest.passages,
                     {.rows = manifest.identity.range(), .passages = manifest.vectors()});
  findings.check("passages", wrong.empty(),
                 {.expected = "the place of every passage, as the manifest describes them",
                  .found = wrong.empty() ? "the same" : wrong},
                 passages_path(path));
}

// Checks the source rows of a stream with a filter.
void check_records(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (!manifest.source_rows) return;
  const std::string wrong = check_source_rows(source_rows_path(path), *manifest.source_rows,
                                              manifest.identity.rows - manifest.dropped_rows);
  findings.check("source_rows", wrong.empty(),
                 {.expected = "ascending numbers of records, as the manifest describes them",
                  .found = wrong.empty() ? "the same" : wrong},
                 source_rows_path(path));
}

void check_expectations(const ExpectedMatrix& matrix, const MatrixSummary& summary,
                        const std::optional<Manifest>& manifest, Findings& findings) {
  if (matrix.rows) {
    findings.check(
        "rows", *matrix.rows == summary.input_rows,
        {.expected = fmt::to_string(*matrix.rows), .found = fmt::to_string(summary.input_rows)},
        "the input has another number of rows");
  }
  if (matrix.dim) {
    const int64_t dim = manifest ? manifest->identity.dim : summary.dim;
    findings.check("dim", *matrix.dim == dim,
                   {.expected = fmt::to_string(*matrix.dim), .found = fmt::to_string(dim)},
                   "the model has another dimension");
  }
  if (matrix.format && manifest) {
    const bool same = has_format(*manifest, *matrix.format);
    findings.check("output_dtype", same,
                   {.expected = describe(*matrix.format),
                    .found = fmt::format("{}{}",
                                         describe(FinalFormat{.type = manifest->type,
                                                              .ranges_file = "",
                                                              .file = manifest->file,
                                                              .columns = manifest->table_columns}),
                                         same ? "" : ", or other ranges")},
                   "the config asks for another format or other ranges: run encode again");
  }
  if (matrix.quarantine && manifest) {
    findings.check(
        "quarantine", manifest->fits(*matrix.quarantine),
        {.expected = fmt::format("{}, as the config says, or no row that was set aside",
                                 to_string(*matrix.quarantine)),
         .found = std::string(to_string(manifest->quarantine))},
        "an earlier run wrote this matrix with another --quarantine (semantic.quarantine)");
  }
  if (!matrix.fingerprint || !manifest) return;
  findings.check_fingerprint("fingerprint", manifest->identity, *matrix.fingerprint, matrix.path);
}

void check_parts(const std::string& path, const std::vector<std::string>& part_names,
                 Findings& findings) {
  const std::unique_ptr<MatrixReader> combined_matrix = open_matrix_reader(path, Elements::kAny);
  MatrixReader& combined = *combined_matrix;
  std::vector<std::unique_ptr<MatrixReader>> parts;
  int64_t row_bytes = 0;
  for (const std::string& name : part_names) {
    const std::string part_path = part_beside(path, name);
    if (!path_exists(part_path, "npy.open")) {
      return findings.warn("parts", "the parts of the combined matrix beside it",
                           "a part is missing", part_path);
    }
    const MatrixReader& part = *parts.emplace_back(open_matrix_reader(part_path, Elements::kAny));
    row_bytes += part.row_bytes();
    const auto text = [](const MatrixReader& matrix) {
      return fmt::format("{} of {}", format_count(matrix.rows(), "row", "rows"),
                         matrix.item_word());
    };
    if (text(part) != text(combined))
      return findings.check("parts", false, {.expected = text(combined), .found = text(part)},
                            part_path);
  }
  if (row_bytes == 0 || row_bytes != combined.row_bytes()) {
    return findings.check("parts", false,
                          {.expected = fmt::format("{} bytes in a row", row_bytes),
                           .found = fmt::format("{} bytes", combined.row_bytes())},
                          path);
  }
  const int64_t block_rows = combined.block_rows();
  for (int64_t first = 0; first < combined.rows(); first += block_rows) {
    const std::span<const std::byte> values = combined.next_bytes(block_rows);
    int64_t column = 0;
    for (const std::unique_ptr<MatrixReader>& part : parts) {
      const std::span<const std::byte> columns = part->next_bytes(block_rows);
      const auto rows = static_cast<int64_t>(values.size()) / row_bytes;
      for (int64_t row = 0; row < rows; ++row) {
        const bool same = std::memcmp(values.data() + row * row_bytes + column,
                                      columns.data() + row * part->row_bytes(),
                                      static_cast<size_t>(part->row_bytes())) == 0;
        if (same) continue;
        return findings.check("parts", false,
                              {.expected = "the columns of its parts",
                               .found = fmt::format("row {} differs", first + row)},
                              fmt::format("{} compared with {}", path, part->path()));
      }
      column += part->row_bytes();
    }
  }
  findings.check("parts", true, {.expected = "the columns of its parts", .found = "the same"});
}

// Checks that the columns of a combined matrix are bit for bit equal to the columns of its parts,
// which lie beside it. Does nothing for another matrix.
void check_combined(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (manifest.parts.empty()) return;
  try {
    check_parts(path, manifest.parts, findings);
  } catch (const Error& error) {
    if (!tells_about_the_file(error)) throw;
    findings.check("parts", false,
                   {.expected = "parts that can be read", .found = error.detail().what},
                   error.detail().where);
  }
}

}  // namespace

bool check_matrix(const ExpectedMatrix& matrix, const Audit& audit, VerifyReport& report) {
  Findings findings(matrix.name, report.findings);
  const size_t first_finding = report.findings.size();
  const std::optional<MatrixScan> scan = check_file(matrix, audit, findings);
  if (!scan) {
    report.matrices.push_back({.name = matrix.name, .path = matrix.path});
    return false;
  }
  report.matrices.push_back(scan->summary);
  MatrixSummary& summary = report.matrices.back();
  const std::optional<Manifest> manifest = check_manifest(matrix, audit, findings);
  summary.input_rows = manifest && manifest->offsets
                           ? manifest->identity.rows
                           : summary.rows + (manifest ? manifest->dropped_rows : 0);
  if (manifest) {
    check_against_manifest(scan->summary, *manifest, findings);
    check_truncation(matrix.path, *manifest, summary, findings);
    check_row_offsets(matrix.path, *manifest, findings);
    check_passage_file(matrix.path, *manifest, findings);
    check_records(matrix.path, *manifest, findings);
    check_set_aside(matrix.path, *manifest, findings);
  }
  check_expectations(matrix, summary, manifest, findings);
  check_values(*scan, manifest, findings);
  if (manifest) check_combined(matrix.path, *manifest, findings);
  return manifest &&
         std::none_of(report.findings.begin() + static_cast<std::ptrdiff_t>(first_finding),
                      report.findings.end(), [](const Finding& finding) {
                        return finding.status == CheckStatus::kFailed;
                      });
}

}  // namespace encode
