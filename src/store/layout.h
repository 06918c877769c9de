// Builds and parses the names of the files that the store writes into a cache directory.
// docs/store-format.md lists them. Any thread may call these functions.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "encode/store.h"

#include "base/output_types.h"

namespace encode {

// The value of "format" in stream.json and in manifests. A manifest of format 1 has "devices", a
// list of names, instead of "origins". Before format 3 no row could be set aside.
inline constexpr int64_t kStoreFormat = 3;
// The largest count in a record. The sum of two such counts does not overflow.
inline constexpr int64_t kMaxInteger = std::numeric_limits<int64_t>::max() / 2;
inline constexpr int64_t kOldestStoreFormat = 1;  // the oldest format that this version reads
inline constexpr std::string_view kElementType = facts_of(ItemType::kFloat32).name;
inline constexpr std::string_view kLogFile = "chunks.log";
inline constexpr std::string_view kStreamFile = "stream.json";
inline constexpr std::string_view kChunksSuffix = "_chunks";  // of the folder of a stream

// The files of one chunk.
enum class ChunkPart { kVectors, kLedger, kOffsets, kSetAside, kPassages };
inline constexpr std::array kChunkParts = {ChunkPart::kVectors, ChunkPart::kLedger,
                                           ChunkPart::kOffsets, ChunkPart::kSetAside,
                                           ChunkPart::kPassages};
// True if the chunk has this file.
bool has_part(const ChunkRecord& record, ChunkPart part);

struct ChunkFileName {
  int64_t index = 0;  // at least 0
  ChunkPart part = ChunkPart::kVectors;
};
// 17 -> "chunk_0017.npy", "chunk_0017.truncated.jsonl", "chunk_0017.offsets.npy",
// "chunk_0017.set_aside.jsonl", "chunk_0017.passages.npy"
std::string chunk_file_name(int64_t index, ChunkPart part = ChunkPart::kVectors);
// Returns nullopt for a name that chunk_file_name() would not build.
std::optional<ChunkFileName> parse_chunk_file_name(std::string_view name);
std::string join_path(const std::string& directory, std::string_view name);
// Returns the stream that has the manifest of a final matrix with this name in a cache directory;
// "" for other files.
std::string stream_of_manifest(std::string_view name);
// Returns where a run that removes its cache directory leaves the list of rejected rows: x.npy ->
// x.rejected.jsonl, and x.parquet -> x.parquet.rejected.jsonl.
std::string rejected_rows_path(const std::string& output);

// Returns the path of a part of a combined matrix, which lies beside it. `name` is the part's name
// in the manifest. The combined matrix may be one shard of a merged matrix: for
// "a/all-00003-of-00064.npy" and "tc.npy" this is "a/tc-00003-of-00064.npy".
std::string part_beside(const std::string& combined_path, const std::string& name);

// Returns true if `name` is the name of a file, or of a temporary file, that a ChunkStore writes
// into its folder.
bool is_chunk_folder_name(std::string_view name);

// Throws Error kConfig "store.stream_name" unless the name matches [A-Za-z0-9][A-Za-z0-9._-]* and
// has at most 200 bytes.
void check_stream_name(const std::string& name);

}  // namespace encode
