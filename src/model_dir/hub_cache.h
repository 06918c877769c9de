// The cache of huggingface_hub: where it is, and how it names a repository. resolve_model() reads
// it, and src/hub writes it. The functions throw no Error.
//
//   <cache>/models--org--name/blobs/<hash>               the files, by the hash of their content
//   <cache>/models--org--name/refs/<revision>            the commit of a branch or a tag
//   <cache>/models--org--name/snapshots/<commit>/<path>  links into blobs/
//   <cache>/.locks/models--org--name/<hash>.lock         is locked while a blob is downloaded
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace encode {

// The revision of a hub id that states none.
inline constexpr const char* kDefaultRevision = "main";

// Returns the folders that may be the home of huggingface_hub, in its order of precedence. Its
// cache and its token are in the first folder. The list is empty if no environment variable names a
// folder, not even HOME. Not thread-safe while another thread changes the environment.
std::vector<std::string> hub_homes();

// Returns the folders in which huggingface_hub keeps downloads, in its order of precedence. It
// downloads into the first folder. The list is empty if no environment variable names a folder, not
// even HOME. Not thread-safe while another thread changes the environment.
std::vector<std::string> hub_cache_folders();

// Returns the folder of a repository in a cache: "models--org--name" for "org/name".
std::string hub_repository_folder(std::string_view id);

// Returns the parts of a text between its slashes.
std::vector<std::string> split_path(std::string_view path);

// Returns true if is_safe_name() is true of every part of a path: "org/name", "refs/pr/1".
bool is_safe_path(std::string_view path);

// Returns true for the 40 lower-case hexadecimal digits of a commit.
bool is_commit(std::string_view revision);

}  // namespace encode
