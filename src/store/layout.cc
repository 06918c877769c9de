#include "store/layout.h"

#include <charconv>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr std::string_view kChunkPrefix = "chunk_";
constexpr std::string_view kMatrixSuffix = ".npy";
constexpr std::string_view kLedgerSuffix = ".truncated.jsonl";
constexpr std::string_view kOffsetsSuffix = ".offsets.npy";
constexpr std::string_view kSetAsideSuffix = ".set_aside.jsonl";
constexpr size_t kMaxNameBytes = 200;
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

std::string chunk_name(int64_t index, std::string_view suffix) {
  return fmt::format("{}{:04}{}", kChunkPrefix, index, suffix);
}

std::optional<int64_t> parse_chunk_name(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(kChunkPrefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() <= kChunkPrefix.size() + suffix.size()) return std::nullopt;
  const std::string_view digits =
      name.substr(kChunkPrefix.size(), name.size() - kChunkPrefix.size() - suffix.size());
  int64_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // Refuses names that chunk_name() does not build, such as "chunk_00017.npy" and "chunk_-001.npy".
  if (index < 0 || chunk_name(index, suffix) != name) return std::nullopt;
  return index;
}

// Replaces ".npy" at the end of a path by `suffix`. If the path does not end in ".npy", appends
// `suffix`.
std::string beside_matrix(std::string_view matrix_path, std::string_view suffix) {
  if (matrix_path.ends_with(kMatrixSuffix)) matrix_path.remove_suffix(kMatrixSuffix.size());
  return fmt::format("{}{}", matrix_path, suffix);
}

}  // namespace

std::string chunks_dir(const std::string& cache_dir, const std::string& stream_name) {
  check_stream_name(stream_name);
  return join_path(cache_dir, stream_name + "_chunks");
}

std::string final_path(const std::string& cache_dir, const std::string& stream_name,
                       MatrixFormat format) {
  check_stream_name(stream_name);
  return join_path(cache_dir, stream_name + "_embeddings" + suffix_of(format));
}

std::string ranges_path(const std::string& matrix_path) { return matrix_path + ".ranges.npy"; }

std::string manifest_path(const std::string& matrix_path) { return matrix_path + ".manifest.json"; }

std::string publishing_path(const std::string& matrix_path) {
  return matrix_path + ".publishing.json";
}

std::string ledger_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kLedgerSuffix);
}

std::string offsets_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kOffsetsSuffix);
}

std::string set_aside_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kSetAsideSuffix);
}

std::string rejected_rows_path(const std::string& output) {
  return beside_matrix(output, kRejectedRowsSuffix);
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
std::string chunk_set_aside_name(int64_t index) { return chunk_name(index, kSetAsideSuffix); }
std::optional<int64_t> parse_chunk_set_aside_name(std::string_view name) {
  return parse_chunk_name(name, kSetAsideSuffix);
}

std::string join_path(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

bool is_chunk_folder_name(std::string_view name) {
  const std::optional<std::string> target = temp_file_target(name);
  const std::string_view plain = target ? std::string_view(*target) : name;
  return plain == kLogFile || plain == kStreamFile || parse_chunk_file_name(plain) ||
         parse_chunk_ledger_name(plain) || parse_chunk_offsets_name(plain) ||
         parse_chunk_set_aside_name(plain);
}

void check_stream_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= kMaxNameBytes &&
                     name.find_first_not_of(kNameCharacters) == std::string::npos &&
                     name[0] != '.' && name[0] != '_' && name[0] != '-';
  if (plain) return;
  throw Error({.code = "store.stream_name",
               .what = "the name of a split or stream cannot be part of a file name",
               .where = "the names in the config",
               .expected =
                   "letters, digits, '.', '_' and '-', beginning with a letter or a digit, at most "
                   "200 bytes",
               .found = fmt::format("'{}'", preview(name)),
               .hint = "rename the split or the stream in the config"});
}

}  // namespace encode
