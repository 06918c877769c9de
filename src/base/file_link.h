// Second names of files. Any thread may call this function.
#pragma once

#include <string>

namespace encode {

// Gives the file `from` a second name, which must be free. Where the file system has no hard links,
// `to` becomes a copy. The content of the file must never change. Returns false if `from` does not
// exist. Throws Error kIoError, kCantCreate and kNoPermission.
bool link_or_copy(const std::string& from, const std::string& to);

}  // namespace encode
