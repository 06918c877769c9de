#include "store/layout.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_files.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr std::string_view kChunkPrefix = "chunk_";
constexpr size_t kMaxNameBytes = 200;
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

struct PartFacts {
  std::string_view suffix;
  std::optional<FileSeal> ChunkRecord::*seal;  // null for the vectors, which every chunk has
};

// In the order of ChunkPart.
constexpr auto kPartFacts = std::to_array<PartFacts>({{kMatrixSuffix, nullptr},
                                                      {kLedgerSuffix, &ChunkRecord::ledger},
                                                      {kOffsetsSuffix, &ChunkRecord::offsets},
                                                      {kSetAsideSuffix, &ChunkRecord::set_aside},
                                                      {kPassagesSuffix, &ChunkRecord::passages}});

const PartFacts& facts_of(ChunkPart part) { return kPartFacts.at(static_cast<size_t>(part)); }

// Replaces ".npy" at the end of a path by `suffix`. If the path does not end in ".npy", appends
// `suffix`.
std::string beside_matrix(std::string_view matrix_path, std::string_view suffix) {
  if (matrix_path.ends_with(kMatrixSuffix)) matrix_path.remove_suffix(kMatrixSuffix.size());
  return fmt::format("{}{}", matrix_path, suffix);
}

std::string final_name(std::string_view stream_name, MatrixFormat format) {
  return fmt::format("{}_embeddings{}", stream_name, suffix_of(format));
}

}  // namespace

std::string stream_of_manifest(std::string_view name) {
  for (const auto& [format_name, format] : kMatrixFormats) {
    const std::string suffix = manifest_path(final_name("", format));
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  }
  return "";
}

std::string chunks_dir(const std::string& cache_dir, const std::string& stream_name) {
  check_stream_name(stream_name);
  return join_path(cache_dir, fmt::format("{}{}", stream_name, kChunksSuffix));
}

std::string final_path(const std::string& cache_dir, const std::string& stream_name,
                       MatrixFormat format) {
  check_stream_name(stream_name);
  return join_path(cache_dir, final_name(stream_name, format));
}

std::string ranges_path(const std::string& matrix_path) {
  return fmt::format("{}{}", matrix_path, kRangesSuffix);
}

std::string manifest_path(const std::string& matrix_path) {
  return fmt::format("{}{}", matrix_path, kManifestSuffix);
}

std::string publishing_path(const std::string& matrix_path) {
  return fmt::format("{}{}", matrix_path, kPublishingSuffix);
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

std::string passages_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kPassagesSuffix);
}

std::string source_rows_path(const std::string& matrix_path) {
  return beside_matrix(matrix_path, kSourceRowsSuffix);
}

std::string rejected_rows_path(const std::string& output) {
  return beside_matrix(output, kRejectedRowsSuffix);
}

std::vector<std::string> final_files(const std::string& matrix_path) {
  return {matrix_path,
          ranges_path(matrix_path),
          ledger_path(matrix_path),
          offsets_path(matrix_path),
          set_aside_path(matrix_path),
          passages_path(matrix_path),
          source_rows_path(matrix_path),
          manifest_path(matrix_path),
          publishing_path(matrix_path)};
}

bool has_part(const ChunkRecord& record, ChunkPart part) {
  const auto seal = facts_of(part).seal;
  return seal == nullptr || (record.*seal).has_value();
}

std::string chunk_file_name(int64_t index, ChunkPart part) {
  return fmt::format("{}{:04}{}", kChunkPrefix, index, facts_of(part).suffix);
}

std::optional<ChunkFileName> parse_chunk_file_name(std::string_view name) {
  if (!name.starts_with(kChunkPrefix)) return std::nullopt;
  int64_t index = -1;
  std::from_chars(name.data() + kChunkPrefix.size(), name.data() + name.size(), index);
  for (const ChunkPart part : kChunkParts) {
    // The comparison also refuses names such as "chunk_00017.npy" and "chunk_-001.npy".
    if (index >= 0 && chunk_file_name(index, part) == name)
      return ChunkFileName{.index = index, .part = part};
  }
  return std::nullopt;
}

std::string join_path(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

bool is_chunk_folder_name(std::string_view name) {
  const std::optional<std::string> target = temp_file_target(name);
  const std::string_view plain = target ? std::string_view(*target) : name;
  return plain == kLogFile || plain == kStreamFile || parse_chunk_file_name(plain);
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

std::string part_beside(const std::string& combined_path, const std::string& name) {
  const std::filesystem::path combined(combined_path);
  std::filesystem::path part = std::filesystem::path(name).filename();
  const std::string stem = combined.stem().string();
  constexpr std::string_view kForm = "-00000-of-00000";
  const std::string suffix = stem.substr(stem.size() - std::min(stem.size(), kForm.size()));
  const bool of_shard = std::ranges::equal(suffix, kForm, [](char found, char form) {
    return form == '0' ? found >= '0' && found <= '9' : found == form;
  });
  if (of_shard && !part.stem().string().ends_with(suffix))
    part = part.stem().string() + suffix + part.extension().string();
  return combined.parent_path().empty() ? part.string() : (combined.parent_path() / part).string();
}

}  // namespace encode
