#include "store/link_final.h"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/file_link.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

bool same_file(const std::string& a, const std::string& b) {
  std::error_code failure;  // if one of the files is missing: false
  return std::filesystem::equivalent(a, b, failure);
}

}  // namespace

bool is_linked_final(const std::string& from, const std::string& to) {
  const std::vector<std::string> sources = final_files(from);
  const std::vector<std::string> names = final_files(to);
  for (size_t i = 0; i < sources.size(); ++i) {
    const bool there = entry_exists(sources[i], "store.final");
    if (there ? !same_file(sources[i], names[i]) : entry_exists(names[i], "store.final"))
      return false;
  }
  return true;
}

void link_final(const std::string& from, const std::string& to) {
  const std::string folder = parent_directory(to);
  const std::string manifest = manifest_path(to);
  const std::string publishing = publishing_path(to);
  write_file_durably(publishing,
                     seal({{"name", std::filesystem::path(to).filename().string()}}) + "\n");
  remove_file(manifest);
  sync_directory(folder);
  const std::vector<std::string> sources = final_files(from);
  const std::vector<std::string> names = final_files(to);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (names[i] == manifest || names[i] == publishing) continue;
    remove_file(names[i]);
    const bool linked = link_or_copy(sources[i], names[i]);
    if (!linked && sources[i] == from)
      throw damage("a matrix is missing", from, "the matrix of a part", "no file");
  }
  sync_directory(folder);
  if (!link_or_copy(manifest_path(from), manifest))
    throw damage("the manifest of a matrix is missing", manifest_path(from), "the manifest",
                 "no file");
  sync_directory(folder);
  remove_file(publishing);
}

}  // namespace encode
