// The names of the files that encode writes beside a matrix, and how they are told from texts. Any
// thread may call these functions.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace encode {

// After the whole name of the matrix: x.npy.manifest.json.
inline constexpr std::string_view kManifestSuffix = ".manifest.json";
inline constexpr std::string_view kPublishingSuffix = ".publishing.json";
inline constexpr std::string_view kRangesSuffix = ".ranges.npy";
// In place of .npy, and after the whole name of a table: x.truncated.jsonl, and
// x.parquet.truncated.jsonl.
inline constexpr std::string_view kMatrixSuffix = ".npy";
inline constexpr std::string_view kLedgerSuffix = ".truncated.jsonl";
inline constexpr std::string_view kOffsetsSuffix = ".offsets.npy";
inline constexpr std::string_view kSetAsideSuffix = ".set_aside.jsonl";
inline constexpr std::string_view kRejectedRowsSuffix = ".rejected.jsonl";

// Returns true if encode has written the file beside a matrix. The name alone is no proof, because
// texts may have such a name, too: the manifest of the matrix must be there. Throws no Error.
bool is_beside_matrix(const std::string& path);

// Returns true if a manifest lies beside the file. It is not read. Throws no Error.
bool has_manifest(const std::string& path);

// Returns the path of the matrix for that of its manifest; "" if `path` is not named like one.
std::string matrix_of_manifest(const std::string& path);

}  // namespace encode
