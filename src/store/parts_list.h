// The list of the parts of a merged matrix, x.parts.json: which file has which rows. Each part is a
// final matrix with a manifest of its own and lies beside the list. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

struct PartsList {
  struct Entry {
    std::string file;  // the name beside the list
    RowRange rows;     // of the stream
    int64_t vectors = 0;
    FileSeal seal;  // of the matrix
    // The hash of the float32 matrix from which a merge has made this one; "" if the part is the
    // matrix that its shard has made.
    std::string made_from = {};
    bool operator==(const Entry& other) const {
      return file == other.file && rows == other.rows && vectors == other.vectors &&
             seal.file_bytes == other.seal.file_bytes && seal.xxh3_128 == other.seal.xxh3_128 &&
             made_from == other.made_from;
    }
  };

  StreamIdentity identity;  // of the whole stream
  OutputType type = OutputType::kFloat32;
  int64_t columns = 0;
  MatrixFormat file = MatrixFormat::kNpy;
  int64_t dropped_rows = 0;
  RowStats stats = {};
  std::vector<ChunkOrigin> origins = {};
  std::vector<Entry> parts = {};  // they tile the rows of the stream, in order

  // Adds the next part, which has the manifest `manifest`. A part without rows only gives the list
  // its type. Throws Error kData "store.damaged" if the parts have different types or columns.
  // write_parts_list() checks that they tile the rows.
  void add(const std::string& name, const Manifest& manifest);
  int64_t vectors() const;  // of all parts
};

// x.npy -> x.parts.json; a list is its own list.
std::string parts_list_path(const std::string& matrix_path);
// x.parts.json -> x.npy, or another suffix for the format of the parts. No file has this name.
std::string matrix_of_list(const std::string& list_path, const PartsList& list);
bool is_parts_list(const std::string& path);  // by its name
// Returns true if a file that is no list has the path of a list. Throws Error kIoError and
// kNoPermission.
bool is_foreign_parts_list(const std::string& path);

// Throws Error kData "store.damaged" if the parts do not have all rows of the stream, and what
// write_file_durably() throws.
void write_parts_list(const std::string& path, const PartsList& list);
// Throws Error kNoInput if there is no list, kData "store.damaged" if it is damaged.
PartsList read_parts_list(const std::string& path);

std::string part_path(const std::string& list_path, const PartsList::Entry& part);
// Returns the manifests of the parts, in order. Throws Error kData "store.damaged" if a part has
// none, or if it is not the part in the list, and what read_manifest() throws.
std::vector<Manifest> read_part_manifests(const std::string& list_path, const PartsList& list);

}  // namespace encode
