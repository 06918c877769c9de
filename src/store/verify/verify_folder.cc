#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/named_path.h"
#include "base/own_cache.h"
#include "base/own_files.h"
#include "base/path_kind.h"
#include "base/shell_quote.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/parts_list.h"
#include "store/verify/chunk_check.h"
#include "store/verify/verify.h"
#include "store/verify/verify_findings.h"

namespace encode {
namespace {

constexpr ErrorCode kOpenCode = "npy.open";

// Returns the matrices in the folder that have a manifest, by their paths.
std::map<std::string, ExpectedMatrix> finished_in(const std::string& folder) {
  std::map<std::string, ExpectedMatrix> matrices;
  for (const std::string& name : list_directory(folder)) {
    const std::string matrix = matrix_of_manifest(name);
    if (matrix.empty()) continue;
    const std::string stream = stream_of_manifest(name);
    const std::string path = join_path(folder, matrix);
    matrices[path] = {.name = stream.empty() ? matrix : stream, .path = path};
  }
  return matrices;
}

// Puts the merged matrices of the folder in the place of their parts. A list that cannot be read
// leaves its parts as matrices of their own.
void merge_parts(const std::string& folder, std::map<std::string, ExpectedMatrix>& matrices) {
  for (const std::string& name : list_directory(folder)) {
    if (!is_parts_list(name)) continue;
    const std::string path = join_path(folder, name);
    try {
      for (const PartsList::Entry& part : read_parts_list(path).parts)
        matrices.erase(join_path(folder, part.file));
    } catch (const Error& error) {  // the check of the list reports it
      if (!tells_about_the_file(error)) throw;
    }
    matrices[path] = {.name = name, .path = path};
  }
}

// Adds the streams that have chunks in the folder and no matrix.
void add_unfinished(const std::string& folder, std::map<std::string, ExpectedMatrix>& matrices) {
  for (const std::string& name : list_directory(folder)) {
    const bool chunks = name.ends_with(kChunksSuffix) &&
                        path_exists(join_path(join_path(folder, name), kStreamFile), kOpenCode);
    if (!chunks) continue;
    const std::string stream = name.substr(0, name.size() - kChunksSuffix.size());
    const bool finished =
        std::any_of(matrices.begin(), matrices.end(),
                    [&stream](const auto& entry) { return entry.second.name == stream; });
    const std::string path = final_path(folder, stream);
    if (!finished) matrices[path] = {.name = stream, .path = path};
  }
}

}  // namespace

VerifyReport verify_folder(const std::string& folder, const VerifyOptions& options) {
  std::map<std::string, ExpectedMatrix> by_path = finished_in(folder);
  merge_parts(folder, by_path);
  // The chunks in the cache directory of an output belong to a matrix elsewhere.
  const std::string output = output_of_cache_dir(folder);
  if (output.empty()) add_unfinished(folder, by_path);
  if (by_path.empty()) {
    throw Error({.code = kOpenCode,
                 .what = "no matrix of encode is in this folder",
                 .where = folder,
                 .expected = "matrices with their manifests (x.npy.manifest.json)",
                 .found = "no manifest",
                 .hint = output.empty()
                             ? "give the path of a matrix, or of the folder that has it"
                             : "check the output: " + shell_command({"encode", "verify", output})});
  }
  std::vector<ExpectedMatrix> matrices;
  for (auto& [path, matrix] : by_path) matrices.push_back(std::move(matrix));
  return verify_run(matrices, has_run(folder) ? folder : "", options);
}

void require_matrix_file(const std::string& path) {
  const std::string advice =
      path_exists(path, kOpenCode) ? "" : advice_on_unfinished(path, /*cache_dir=*/"");
  if (advice.empty()) return require_named_file(path, kOpenCode);
  ErrorDetail detail = system_error(kOpenCode, "open", path, ENOENT).detail();
  detail.hint = advice;
  throw Error(std::move(detail));
}

}  // namespace encode
