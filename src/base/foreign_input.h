// Recognises inputs that hold no texts for encode: a folder, a spreadsheet, a document or an
// archive. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "encode/error.h"

namespace encode {

// A file of another program, in words for a message.
struct ForeignFile {
  std::string_view name;  // "an Excel workbook"
  std::string_view hint;  // how to get the texts out of it
};

// The number of bytes at the start of a file that foreign_file() can use.
inline constexpr size_t kForeignBytes = size_t{64} << 10;

// The first bytes of a ZIP archive, and of each of its members.
inline constexpr std::string_view kZipStart = "PK\x03\x04";

// Returns true if foreign_file() looks for the names of the members of an archive. For any other
// file, the first 512 bytes say as much as kForeignBytes.
bool may_be_zip(std::string_view start);

// Recognises a file by its first bytes. The suffix of the name tells apart the formats that begin
// with the same bytes. Returns nullopt for all other files, also for those that `encode` reads.
// Throws no Error.
std::optional<ForeignFile> foreign_file(const std::string& path, std::string_view start);

// The texts of an error about a folder given as input: `found` says what it holds, `hint` how to
// name its files.
struct FolderContent {
  std::string found;
  std::string hint;
};
// Looks only at the names of the files, and leaves out those that encode has written. Throws no
// Error.
FolderContent describe_folder(const std::string& folder);

// Makes the Error "text.files" for a folder that is no input. `where` is the place in the message.
Error folder_error(const std::string& folder, const std::string& where);

// Throws folder_error() for a folder, and Error "text.encoding" for a file of another program. The
// suffix decides about a file that cannot be read. Does nothing for any other path.
void refuse_foreign_input(const std::string& path, const std::string& where);

}  // namespace encode
