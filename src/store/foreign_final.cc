#include <optional>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/npy.h"
#include "base/output_types.h"
#include "base/path_kind.h"
#include "columnar/matrix_reader.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr ErrorCode kFinalCode = "store.final";

// A damaged manifest still counts as a manifest if it has one of these texts. Damage in one place
// leaves at least one of them intact.
bool looks_like_manifest(const std::string& path) {
  const std::string text = read_head(path, kMaxSealedBytes, kFinalCode);
  return text.starts_with(R"({"checksum":")") || text.find(R"("fingerprint")") != std::string::npos;
}

bool is_own_matrix(const std::string& path) {
  std::optional<Manifest> manifest;
  try {
    manifest = read_manifest(path);
  } catch (const Error& error) {
    if (error.detail().code == "store.format") return true;
    if (error.exit_code() != ExitCode::kData) throw;
  }
  if (!manifest) {
    const bool matrix = read_head(path, std::ssize(kNpyMagic), kFinalCode) == kNpyMagic ||
                        matrix_format(path) != MatrixFormat::kNpy;
    return matrix && looks_like_manifest(manifest_path(path));
  }
  if (manifest->file != MatrixFormat::kNpy) return matrix_format(path) == manifest->file;
  const std::string header =
      make_npy_header(manifest->vectors(), manifest->columns, facts_of(manifest->type).item);
  return header.starts_with(read_head(path, std::ssize(header), kFinalCode));
}

// Recognises a ledger without its manifest, because people delete a matrix and its manifest to make
// them again.
bool is_own_ledger(const std::string& path) {
  constexpr int64_t kLineBytes = 128;  // longer than any line
  const std::string head = read_head(path, kLineBytes, kFinalCode);
  const bool has_line =
      head.starts_with(R"({"row":)") && head.find(R"("lost_tokens":)") != std::string::npos;
  return head.empty() || has_line;
}

// Recognises a list of rows that were set aside. Its lines begin with the key "code", because
// ledger_line() sorts the keys.
bool is_own_set_aside(const std::string& path) {
  constexpr std::string_view kBegin = R"({"code":")";
  const std::string head = read_head(path, std::ssize(kBegin), kFinalCode);
  return head.empty() || head == kBegin;
}

// Returns true if the manifest names this list, or if it is damaged and so may have named it.
bool names_list(const std::string& matrix_path, std::optional<FileSeal> Manifest::*list) {
  try {
    const std::optional<Manifest> manifest = read_manifest(matrix_path);
    return manifest && (*manifest).*list;
  } catch (const Error&) {
    return true;
  }
}

// Returns true if a file that encode did not write has the name of the ledger. publish_final()
// would delete it.
bool is_foreign_ledger(const std::string& matrix_path) {
  const std::string path = ledger_path(matrix_path);
  return entry_exists(path, kFinalCode) && !names_list(matrix_path, &Manifest::ledger) &&
         !is_own_ledger(path);
}

// As is_foreign_ledger(), for the source rows.
bool is_foreign_source_rows(const std::string& matrix_path) {
  return entry_exists(source_rows_path(matrix_path), kFinalCode) &&
         !names_list(matrix_path, &Manifest::source_rows);
}

}  // namespace

bool is_foreign_set_aside(const std::string& matrix_path) {
  const std::string path = set_aside_path(matrix_path);
  if (!entry_exists(path, kFinalCode) || names_list(matrix_path, &Manifest::set_aside))
    return false;
  return path_kind(path, kFinalCode) != PathKind::kFile || !is_own_set_aside(path);
}

std::string foreign_final_file(const std::string& matrix_path) {
  if (const std::string mark = publishing_path(matrix_path); entry_exists(mark, kFinalCode))
    return looks_like_manifest(mark) ? "" : mark;
  std::string manifest = manifest_path(matrix_path);
  if (entry_exists(manifest, kFinalCode)) {
    const bool matrix = entry_exists(matrix_path, kFinalCode);
    if (matrix && !is_own_matrix(matrix_path)) return matrix_path;
    if (!matrix && !looks_like_manifest(manifest)) return manifest;
    if (is_foreign_source_rows(matrix_path)) return source_rows_path(matrix_path);
    return is_foreign_ledger(matrix_path) ? ledger_path(matrix_path) : "";
  }
  for (const std::string& path : final_files(matrix_path)) {
    const bool ledger = path == ledger_path(matrix_path);
    if (entry_exists(path, kFinalCode) && !(ledger && is_own_ledger(path))) return path;
  }
  return "";
}

}  // namespace encode
