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
constexpr std::string_view kLedgerSuffix = ".truncated.jsonl";
constexpr std::string_view kOffsetsSuffix = ".offsets.npy";
constexpr size_t kMaxNameBytes = 200;
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

std::string chunk_name(int64_t index, std::string_view suffix) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%04lld", static_cast<long long>(index));
  return std::string(kChunkPrefix) + digits + std::string(suffix);
}

std::optional<int64_t> parse_chunk_name(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(kChunkPrefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() <= kChunkPrefix.size() + suffix.size()) return std::nullopt;
  const std::string_view digits =
      name.substr(kChunkPrefix.size(), name.size() - kChunkPrefix.size() - suffix.size());
  int64_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // "chunk_00017.npy" and "chunk_-001.npy" are numbers too, but no names of ours.
  if (index < 0 || chunk_name(index, suffix) != name) return std::nullopt;
  return index;
}

// x.npy -> x + suffix
std::string beside_matrix(const std::string& matrix_path, std::string_view suffix) {
  const bool is_npy = matrix_path.ends_with(kMatrixSuffix);
  return matrix_path.substr(0, matrix_path.size() - (is_npy ? kMatrixSuffix.size() : 0)) +
         std::string(suffix);
}

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

std::string ledger_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kLedgerSuffix);
}

std::string offsets_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kOffsetsSuffix);
}

std::string chunk_file_name(int64_t index) { return chunk_name(index, kMatrixSuffix); }
std::optional<int64_t> parse_chunk_file_name(std::string_view name) {
  return parse_chunk_name(name, kMatrixSuffix);
}
std::string chunk_ledger_name(int64_t index) { return chunk_name(index, kLedgerSuffix); }
std::optional<int64_t> parse_chunk_ledger_name(std::string_view name) {
  return parse_chunk_name(name, kLedgerSuffix);
}
std::string chunk_offsets_name(int64_t index) { return chunk_name(index, kOffsetsSuffix); }
std::optional<int64_t> parse_chunk_offsets_name(std::string_view name) {
  return parse_chunk_name(name, kOffsetsSuffix);
}

std::string join_path(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

bool is_chunk_folder_name(std::string_view name) {
  const std::optional<std::string> target = temp_file_target(name);
  const std::string_view plain = target ? std::string_view(*target) : name;
  return plain == kLogFile || plain == kStreamFile || parse_chunk_file_name(plain) ||
         parse_chunk_ledger_name(plain) || parse_chunk_offsets_name(plain);
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
