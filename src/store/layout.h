// The names of everything in a cache directory, built and parsed here and nowhere else.
// docs/store-format.md shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encode/store.h"

namespace encode {

// "format" in stream.json and in manifests. 1: a manifest has "devices", names, for "origins".
inline constexpr int64_t kStoreFormat = 2;
inline constexpr int64_t kOldestStoreFormat = 1;  // that is still read
inline constexpr std::string_view kElementType = "<f4";
inline constexpr std::string_view kLockFile = "LOCK";
inline constexpr std::string_view kLogFile = "chunks.log";
inline constexpr std::string_view kStreamFile = "stream.json";

std::string chunk_file_name(int64_t index);  // 17 -> "chunk_0017.npy"
std::optional<int64_t> parse_chunk_file_name(
    std::string_view name);                    // nullopt unless it is exactly what is built
std::string chunk_ledger_name(int64_t index);  // 17 -> "chunk_0017.truncated.jsonl"
std::optional<int64_t> parse_chunk_ledger_name(std::string_view name);
std::string chunk_offsets_name(int64_t index);  // 17 -> "chunk_0017.offsets.npy"
std::optional<int64_t> parse_chunk_offsets_name(std::string_view name);
std::string join_path(const std::string& directory, std::string_view name);

// Is it the name of a file, or of a temp file, that a ChunkStore writes into its folder?
bool is_chunk_folder_name(std::string_view name);

// Throws Error kConfig for a name that would not be a plain file name: [A-Za-z0-9][A-Za-z0-9._-]*,
// at most 200 bytes.
void check_stream_name(const std::string& name);

}  // namespace encode
