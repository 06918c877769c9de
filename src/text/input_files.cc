// The files of an input: input_files().
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <glob.h>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/file.h"
#include "base/foreign_input.h"
#include "base/json.h"
#include "base/named_path.h"
#include "base/own_files.h"
#include "base/path_kind.h"
#include "base/units.h"

namespace encode {
namespace {

// The fingerprint and the manifest list the files, and both are read whole.
constexpr size_t kMaxFiles = 10'000;
constexpr size_t kMaxPathBytes = size_t{4} << 20;
constexpr int64_t kMaxStateBytes = int64_t{16} << 20;

// glob() calls this function for a folder that it cannot read. It then stops, because files that
// match may be in that folder.
int stop_at_unreadable_folder(const char* /*path*/, int error_number) {
  return means_absent(error_number) ? 0 : 1;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found = {};
  const int status =
      ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, stop_at_unreadable_folder, &found);
  const int error_number = errno;
  std::vector<std::string> paths;
  if (status == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == GLOB_ABORTED) throw system_error("text.files", "search for", pattern, error_number);
  if (status == GLOB_NOSPACE) throw std::bad_alloc();
  // A matrix of an earlier run may lie among the texts, and its lists would be read as texts.
  const size_t own = std::erase_if(paths, is_beside_matrix);
  if (paths.empty()) {
    throw Error({.code = "text.files",
                 .what = "no file matches the pattern",
                 .where = pattern,
                 .expected = "at least one file",
                 .found = own == 0 ? "none" : "only files that encode has written beside a matrix",
                 .hint = "check the path; ls with the same pattern shows what it matches" +
                         start_of_relative_path(pattern)});
  }
  // The order of glob() itself depends on the locale.
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Returns the files that the state.json of datasets.save_to_disk lists.
std::vector<std::string> saved_dataset_files(const std::string& folder) {
  const std::string path = folder + "/state.json";
  if (!path_exists(path, "text.files")) throw folder_error(folder, folder);
  const Json state = read_json_file(path, {.max_bytes = kMaxStateBytes}, "text.files");
  const JsonFields fields(state, path, "text.files");
  // Older versions of the library may save all rows and a list of the numbers of the rows that
  // count. Version 1.2.1 writes an empty list if all rows count.
  if (fields.has("_indices_data_files") && !fields.array("_indices_data_files").empty())
    fields.refuse("_indices_data_files", "null or an empty list",
                  "a list; save the data set again to drop it");
  std::vector<std::string> paths;
  for (const Json& file : fields.array("_data_files")) {
    const JsonFields entry(file, path, "text.files");
    // Versions before 1.2 write {"skip": 0, "take": <rows>} for a whole file. Later versions ignore
    // these keys, so another "skip" would be ambiguous.
    if (entry.has("skip") && file.at("skip") != 0)
      entry.refuse("skip", "null or 0: the file from its first row",
                   preview(file.at("skip").dump()));
    const std::string name = entry.string("filename");
    // A name must lead to a file in the folder.
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
      fields.refuse("filename", "the name of a file in the folder", name);
    paths.push_back(fmt::format("{}/{}", folder, name));
  }
  if (paths.empty()) fields.refuse("_data_files", "at least one file", "an empty list");
  return paths;
}

std::vector<std::string> files_of(const std::string& path) {
  if (path == "-") return {path};
  const PathKind kind = path_kind(path, "text.open");
  if (kind == PathKind::kDirectory) return saved_dataset_files(path);
  const bool is_pattern = path.find_first_of("*?[") != std::string::npos;
  if (kind == PathKind::kAbsent && is_pattern) return matches(path);
  return {path};  // a missing file is reported when it is opened
}

}  // namespace

std::vector<std::string> input_files(const InputOptions& options) {
  std::vector<std::string> all = files_of(options.path);
  for (const std::string& path : options.more_paths) {
    for (std::string& file : files_of(path)) all.push_back(std::move(file));
  }
  size_t bytes = 0;
  for (const std::string& path : all) bytes += path.size();
  if (all.size() <= kMaxFiles && bytes <= kMaxPathBytes) return all;
  throw Error({.code = "text.files",
               .exit_code = ExitCode::kConfig,
               .what = "the input has too many files",
               .where = options.path,
               .expected = fmt::format("at most {} files", kMaxFiles),
               .found = fmt::format("{} files", all.size()),
               .hint = "join the files, or make several streams of them"});
}

}  // namespace encode
