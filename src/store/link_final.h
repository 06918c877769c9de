// Publishes a final matrix under a second name without copying it. Any thread may call these
// functions.
#pragma once

#include <string>

namespace encode {

// Returns true if `to` and the files beside it are the files of the final matrix `from`, under
// other names. Throws Error kIoError and kNoPermission.
bool is_linked_final(const std::string& from, const std::string& to);

// Gives the final matrix `from` and the files beside it the names of `to`, as hard links, or as
// copies where the file system has no links. Replaces an older matrix there. As publish_final(), it
// deletes the old manifest first and publishes the new one last, and the file publishing_path()
// exists meanwhile. Throws Error kIoError, kCantCreate, kNoPermission, and kData "store.damaged" if
// `from` is not there.
void link_final(const std::string& from, const std::string& to);

}  // namespace encode
