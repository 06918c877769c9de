// The list of the files of an input that has more than kMostUnlistedFiles of them. A list is a file
// of its own, in pages, so that a shard reads the pages with its own files only, and no job or
// manifest grows with the number of files. docs/store-format.md describes the file. Any thread may
// call these functions.
#pragma once

#include <optional>
#include <string>

#include "encode/config.h"
#include "encode/scanned_files.h"
#include "encode/text.h"

namespace encode {

inline constexpr int64_t kListPageFiles = 1024;

// Returns the list of these files. It has no place and no root.
FileList list_of(const InputOptions& input, const ScannedFiles& files);

// Returns the list with the place `path`, made absolute, at which nothing is written yet. Throws
// Error kConfig "job.utf8" for a path of a file that is not UTF-8.
FileList placed(FileList list, const ScannedFiles& files, const std::string& path);

// Publishes the list at its place, unless it is there. Throws what AtomicFile throws.
void write_file_list(const FileList& list, const ScannedFiles& files);

// Reads files of a list, and no other pages than theirs. Throws Error: kNoInput "store.file_list"
// if the list is gone, kData "store.damaged" if it is damaged or another list.
ScannedFiles read_file_list(const ListedFiles& listed);

// Reads `scan.files` if they are not read. Throws what read_file_list() throws.
void read_listed_files(InputScan& scan);

// Reads all files of the list that a manifest names: where the manifest says, or beside the matrix.
// The list may be that of a later run: only the hashes of the files prove which texts were encoded.
// Returns no files if there is no list. Throws what read_file_list() throws.
ScannedFiles read_list_of_matrix(const FileList& list, const std::string& matrix_path);

// Returns true if a file has this path and does not begin as a list does. Throws kIoError or
// kNoPermission.
bool is_foreign_file_list(const std::string& path);

}  // namespace encode
