// The names of the files that encode writes beside a matrix, and how they are told from texts. Any
// thread may call these functions.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// These suffixes follow the whole name of the matrix: x.npy.manifest.json.
inline constexpr std::string_view kManifestSuffix = ".manifest.json";
inline constexpr std::string_view kPublishingSuffix = ".publishing.json";
inline constexpr std::string_view kRangesSuffix = ".ranges.npy";
inline constexpr std::string_view kMatrixSuffix = ".npy";
// These suffixes replace .npy, and follow the whole name of a table: x.truncated.jsonl, and
// x.parquet.truncated.jsonl.
inline constexpr std::string_view kLedgerSuffix = ".truncated.jsonl";
inline constexpr std::string_view kOffsetsSuffix = ".offsets.npy";
inline constexpr std::string_view kPassagesSuffix = ".passages.npy";
inline constexpr std::string_view kSetAsideSuffix = ".set_aside.jsonl";
inline constexpr std::string_view kSourceRowsSuffix = ".source_rows.npy";
inline constexpr std::string_view kRejectedRowsSuffix = ".rejected.jsonl";

// Returns true if encode has written the file beside a matrix. The name alone is no proof, because
// texts may have such a name, too: the manifest of the matrix must be there. Throws no Error.
bool is_beside_matrix(const std::string& path);

// Returns true if a manifest lies beside the file. The manifest is not read. Throws no Error.
bool has_manifest(const std::string& path);

// Returns the path of the matrix whose manifest `path` is; "" if it is no name of a manifest.
std::string matrix_of_manifest(const std::string& path);

}  // namespace encode
