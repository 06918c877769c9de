#include <optional>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/npy.h"
#include "base/path_kind.h"
#include "columnar/matrix_reader.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr ErrorCode kFinalCode = "store.final";

// A damaged manifest still counts as one if it has one of these texts. Damage of one place leaves
// at least one of them.
bool looks_like_manifest(const std::string& path) {
  const std::string text = read_head(path, kMaxManifestBytes, kFinalCode);
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
    constexpr std::string_view kMagic = "\x93NUMPY";
    const bool matrix = read_head(path, std::ssize(kMagic), kFinalCode) == kMagic ||
                        matrix_format(path) != MatrixFormat::kNpy;
    return matrix && looks_like_manifest(manifest_path(path));
  }
  if (manifest->file != MatrixFormat::kNpy) return matrix_format(path) == manifest->file;
  const std::string header =
      make_npy_header(manifest->vectors(), manifest->columns, npy_type(manifest->type));
  return header.starts_with(read_head(path, std::ssize(header), kFinalCode));
}

// Recognises a ledger without its manifest, because people delete a matrix and its manifest to make
// them again.
bool is_own_ledger(const std::string& path) {
  constexpr int64_t kLineBytes = 128;  // more than a line has
  const std::string head = read_head(path, kLineBytes, kFinalCode);
  const bool has_line =
      head.starts_with(R"({"row":)") && head.find(R"("lost_tokens":)") != std::string::npos;
  return head.empty() || has_line;
}

// Recognises a list of rows that were set aside. ledger_line() sorts the keys.
bool is_own_set_aside(const std::string& path) {
  constexpr std::string_view kBegin = R"({"code":")";
  const std::string head = read_head(path, std::ssize(kBegin), kFinalCode);
  return head.empty() || head == kBegin;
}

// True if a damaged manifest may name the list.
bool names_set_aside(const std::string& matrix_path) {
  try {
    const std::optional<Manifest> manifest = read_manifest(matrix_path);
    return manifest && manifest->set_aside;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

bool is_foreign_set_aside(const std::string& matrix_path) {
  const std::string path = set_aside_path(matrix_path);
  if (!entry_exists(path, kFinalCode) || names_set_aside(matrix_path)) return false;
  return path_kind(path, kFinalCode) != PathKind::kFile || !is_own_set_aside(path);
}

std::string foreign_final_file(const std::string& matrix_path) {
  if (const std::string mark = publishing_path(matrix_path); entry_exists(mark, kFinalCode))
    return looks_like_manifest(mark) ? "" : mark;
  const std::string manifest = manifest_path(matrix_path);
  if (entry_exists(manifest, kFinalCode)) {
    if (entry_exists(matrix_path, kFinalCode)) return is_own_matrix(matrix_path) ? "" : matrix_path;
    return looks_like_manifest(manifest) ? "" : manifest;
  }
  for (const std::string& path : final_files(matrix_path)) {
    const bool ledger = path == ledger_path(matrix_path);
    if (entry_exists(path, kFinalCode) && !(ledger && is_own_ledger(path))) return path;
  }
  return "";
}

}  // namespace encode
