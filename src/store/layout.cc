#include "store/layout.h"

#include <charconv>
#include <cstdio>

#include "encode/error.h"

#include "base/file.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr std::string_view kChunkPrefix = "chunk_";
constexpr std::string_view kMatrixSuffix = ".npy";
constexpr size_t kMaxNameBytes = 200;
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

}  // namespace

std::string chunks_dir(const std::string& cache_dir, const std::string& stream_name) {
  check_stream_name(stream_name);
  return join_path(cache_dir, stream_name + "_chunks");
}

std::string final_path(const std::string& cache_dir, const std::string& stream_name) {
  check_stream_name(stream_name);
  return join_path(cache_dir, stream_name + "_embeddings.npy");
}

std::string ranges_path(const std::string& matrix_path) { return matrix_path + ".ranges.npy"; }

std::string manifest_path(const std::string& matrix_path) { return matrix_path + ".manifest.json"; }

std::string chunk_file_name(int64_t index) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%04lld", static_cast<long long>(index));
  return std::string(kChunkPrefix) + digits + std::string(kMatrixSuffix);
}

std::optional<int64_t> parse_chunk_file_name(std::string_view name) {
  if (!name.starts_with(kChunkPrefix) || !name.ends_with(kMatrixSuffix)) return std::nullopt;
  if (name.size() <= kChunkPrefix.size() + kMatrixSuffix.size()) return std::nullopt;
  const std::string_view digits =
      name.substr(kChunkPrefix.size(), name.size() - kChunkPrefix.size() - kMatrixSuffix.size());
  int64_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // "chunk_00017.npy" and "chunk_-001.npy" are numbers too, but no names of ours.
  if (index < 0 || chunk_file_name(index) != name) return std::nullopt;
  return index;
}

std::string join_path(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

bool is_chunk_folder_name(std::string_view name) {
  const std::optional<std::string> target = temp_file_target(name);
  const std::string_view plain = target ? std::string_view(*target) : name;
  return plain == kLogFile || plain == kStreamFile || parse_chunk_file_name(plain).has_value();
}

void check_stream_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= kMaxNameBytes &&
                     name.find_first_not_of(kNameCharacters) == std::string::npos &&
                     name[0] != '.' && name[0] != '_' && name[0] != '-';
  if (plain) return;
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "store.stream_name",
       .what = "the name of a split or stream is no plain file name",
       .where = "",
       .expected = "letters, digits, '.', '_' and '-', first a letter or digit, at most 200 bytes",
       .found = "'" + preview(name) + "'",
       .hint = "rename the split or the stream in the config"});
}

}  // namespace encode
