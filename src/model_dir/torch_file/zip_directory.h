// Reads the directory of a zip archive as torch.save() writes it (PKWARE's APPNOTE.TXT 6.3.10):
// ZIP64, data descriptors and fields that pad the data to a border.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/file.h"

namespace encode {

// The bytes of an entry, which lie inside the file and overlap no other entry.
struct ZipEntry {
  int64_t offset_bytes = 0;  // from the beginning of the file
  int64_t size_bytes = 0;
  bool stored = true;  // false: the bytes are compressed
};

// Returns the entries by name. A name is relative, has no component "..", and no backslash and no
// control character. `file` is for messages. Nothing is decompressed, and memory is bounded by
// kMaxZipDirectoryBytes.
//
// Programs read a damaged archive in different ways, so everything that is stated twice must agree:
// the central directory, the header before each entry, and the two records at the end. The entries
// follow one another from the beginning of the file up to the central directory, with nothing
// between them but data descriptors. Throws Error kConfig "model.zip". Throws kIoError if reading
// fails.
std::map<std::string, ZipEntry> read_zip_directory(const UniqueFd& fd, const std::string& file);

}  // namespace encode
