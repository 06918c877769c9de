// The files of an input: input_files().
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <glob.h>
#include <span>

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

// The list of the files is in memory while they are read.
constexpr int64_t kMaxFiles = 1'000'000;
constexpr int64_t kMaxPathBytes = int64_t{512} << 20;
// The manifest names the files if they have no list of their own, and is read whole.
constexpr int64_t kMaxUnlistedPathBytes = int64_t{4} << 20;
constexpr int64_t kMaxStateBytes = int64_t{16} << 20;

// glob() calls this function for a folder that it cannot read. It then stops, because files that
// match may be in that folder.
int stop_at_unreadable_folder(const char* /*path*/, int error_number) {
  return means_absent(error_number) ? 0 : 1;
}

// What glob() has found. Its paths are not copied, because they take most of the memory of a scan
// of many small files.
class Matches {
 public:
  explicit Matches(const std::string& pattern) {
    const int status =
        ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, stop_at_unreadable_folder, &found_);
    const int error_number = errno;
    if (status != GLOB_ABORTED && status != GLOB_NOSPACE) return;
    ::globfree(&found_);
    if (status == GLOB_NOSPACE) throw std::bad_alloc();
    throw system_error("text.files", "search for", pattern, error_number);
  }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;
  ~Matches() { ::globfree(&found_); }

  std::span<char*> paths() { return {found_.gl_pathv, found_.gl_pathc}; }

 private:
  glob_t found_ = {};
};

void append_matches(const std::string& pattern, PathList& paths) {
  Matches matches(pattern);
  // The order of glob() itself depends on the locale.
  std::ranges::sort(matches.paths(),
                    [](const char* a, const char* b) { return std::strcmp(a, b) < 0; });
  size_t own = 0;
  for (const char* path : matches.paths()) {
    // A matrix of an earlier run may lie among the texts, and its lists would be read as texts.
    if (is_beside_matrix(path)) {
      ++own;
    } else {
      paths.push_back(path);
    }
  }
  if (own == matches.paths().size()) {
    throw Error({.code = "text.files",
                 .what = "no file matches the pattern",
                 .where = pattern,
                 .expected = "at least one file",
                 .found = own == 0 ? "none" : "only files that encode has written beside a matrix",
                 .hint = "check the path; ls with the same pattern shows what it matches" +
                         start_of_relative_path(pattern)});
  }
}

// Appends the files that the state.json of datasets.save_to_disk lists.
void append_saved_dataset(const std::string& folder, PathList& paths) {
  const std::string path = folder + "/state.json";
  if (!path_exists(path, "text.files")) throw folder_error(folder, folder);
  const Json state = read_json_file(path, {.max_bytes = kMaxStateBytes}, "text.files");
  const JsonFields fields(state, path, "text.files");
  // Older versions of the library may save all rows and a list of the numbers of the rows that
  // count. Version 1.2.1 writes an empty list if all rows count.
  if (fields.has("_indices_data_files") && !fields.array("_indices_data_files").empty())
    fields.refuse("_indices_data_files", "null or an empty list",
                  "a list; save the data set again to drop it");
  const Json& files = fields.array("_data_files");
  for (const Json& file : files) {
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
  if (files.empty()) fields.refuse("_data_files", "at least one file", "an empty list");
}

void append_files(const std::string& path, PathList& paths) {
  const PathKind kind = path == "-" ? PathKind::kFile : path_kind(path, "text.open");
  if (kind == PathKind::kDirectory) {
    append_saved_dataset(path, paths);
  } else if (kind == PathKind::kAbsent && path.find_first_of("*?[") != std::string::npos) {
    append_matches(path, paths);
  } else {
    paths.push_back(path);  // a missing file is reported when it is opened
  }
}

}  // namespace

PathList input_files(const InputOptions& options) {
  PathList all;
  append_files(options.path, all);
  for (const std::string& path : options.more_paths) append_files(path, all);
  const int64_t files = std::ssize(all);
  const int64_t most_bytes = files > kMostUnlistedFiles ? kMaxPathBytes : kMaxUnlistedPathBytes;
  if (files <= kMaxFiles && all.path_bytes() <= most_bytes) return all;
  throw Error({.code = "text.files",
               .exit_code = ExitCode::kConfig,
               .what = "the input has too many files",
               .where = options.path,
               .expected = fmt::format("at most {} files, whose paths have at most {} together",
                                       format_count(kMaxFiles), format_bytes(most_bytes)),
               .found = fmt::format("{} files, whose paths have {}", format_count(files),
                                    format_bytes(all.path_bytes())),
               .hint = "join the files, or make several streams of them"});
}

}  // namespace encode
