// Where the files of chunks are in the folder of a stream: in the folder itself or, for a stream of
// many chunks, in sub-folders, because large folders are slow on network file systems. stream.json
// says which. docs/store-format.md describes the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/layout.h"

namespace encode {

// A new stream of more chunks than this gets sub-folders of kFolderChunks chunks.
inline constexpr int64_t kMostFlatChunks = 10'000;
inline constexpr int64_t kFolderChunks = 1'000;

// Any thread may call the functions of a constant object.
class ChunkPlaces {
 public:
  // `folder_chunks` is StreamFile::folder_chunks.
  ChunkPlaces(std::string directory, int64_t folder_chunks)
      : directory_(std::move(directory)), folder_chunks_(folder_chunks) {}

  // Returns the path below the folder of the stream: "chunk_0017.npy", or "012/chunk_12345.npy".
  std::string name(int64_t index, ChunkPart part = ChunkPart::kVectors) const;
  std::string path(int64_t index, ChunkPart part = ChunkPart::kVectors) const;
  // Returns the folder of the chunk's files, which is the folder of the stream or lies in it.
  std::string folder(int64_t index) const;
  bool has_folders() const { return folder_chunks_ > 0; }

 private:
  std::string directory_;
  int64_t folder_chunks_;
};

// Returns true for the name of a sub-folder of chunks: "012".
bool is_chunk_subfolder(std::string_view name);

// Returns the paths of the entries of a folder of a stream and of the entries of its sub-folders of
// chunks, relative to the folder: "chunks.log", "012/chunk_12345.npy". Leaves out the sub-folders.
// Throws what list_directory() throws.
std::vector<std::string> entries_of_stream(const std::string& directory);

// Returns the names of the sub-folders of chunks. Throws what list_directory() throws.
std::vector<std::string> chunk_subfolders(const std::string& directory);

// Creates the folders of chunks, each at most once. It syncs the folder of the stream after each of
// them, also if the sub-folder exists: the process that has created it may have ended before it
// synced. Not thread-safe.
class ChunkFolders {
 public:
  explicit ChunkFolders(ChunkPlaces places) : places_(std::move(places)) {}
  // Throws what create_directories_durably() throws.
  void create(int64_t index);

 private:
  ChunkPlaces places_;
  std::set<std::string> created_;
};

}  // namespace encode
