#include "store/join_final.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/bounded_queue.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"
#include "base/output_types.h"
#include "store/final.h"
#include "store/final_values.h"
#include "store/fingerprint/fingerprint.h"
#include "store/matrix_file.h"
#include "store/records.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = int64_t{8} << 20;
constexpr size_t kBlocks = 4;  // that are in memory

using Block = std::vector<std::byte>;

std::vector<Manifest> manifests_of(const std::vector<std::string>& parts) {
  std::vector<Manifest> manifests;
  for (const std::string& path : parts) {
    std::optional<Manifest> manifest = read_manifest(path);
    if (!manifest) throw damage("a part is not finished", path, "its manifest", "none");
    if (!manifests.empty() && (manifest->type != manifests.front().type ||
                               manifest->columns != manifests.front().columns))
      throw damage("the parts of a matrix have different types", path,
                   fmt::format("{} columns of {}", manifests.front().columns,
                               to_string(manifests.front().type)),
                   fmt::format("{} columns of {}", manifest->columns, to_string(manifest->type)));
    manifests.push_back(std::move(*manifest));
  }
  return manifests;
}

Manifest manifest_of(const JoinedFinals& joined, const std::vector<Manifest>& parts) {
  Manifest manifest = {.identity = joined.identity,
                       .type = parts.front().type,
                       .columns = parts.front().columns,
                       .ranges_given = parts.front().ranges_given,
                       .parts = parts.front().parts};
  for (const Manifest& part : parts) {
    manifest.stats.add(part.stats);
    manifest.dropped_rows += part.dropped_rows;
    if (part.quarantine != QuarantinePolicy::kError) manifest.quarantine = part.quarantine;
    for (const ChunkOrigin& origin : part.origins) add_origin(manifest.origins, origin);
  }
  return manifest;
}

std::vector<SetAsideRow> set_aside_of(const JoinedFinals& joined,
                                      const std::vector<Manifest>& parts) {
  std::vector<SetAsideRow> rows;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<SetAsideRow> more = set_aside_rows(joined.parts[i], parts[i]);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

void fill_ledger(const JoinedFinals& joined, const std::vector<Manifest>& parts,
                 LedgerWriter& ledger) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].ledger) ledger.append_file(ledger_path(joined.parts[i]), *parts[i].ledger);
  }
}

void fill_offsets(const JoinedFinals& joined, const std::vector<Manifest>& parts,
                  OffsetsWriter& offsets) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].offsets) offsets.append_file(offsets_path(joined.parts[i]), *parts[i].offsets);
  }
}

void fill_passages(const JoinedFinals& joined, const std::vector<Manifest>& parts,
                   PassagesWriter& passages) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].passages) passages.append_file(passages_path(joined.parts[i]), *parts[i].passages);
  }
}

void fill_source_rows(const JoinedFinals& joined, const std::vector<Manifest>& parts,
                      SourceRowsWriter& writer) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string path = source_rows_path(joined.parts[i]);
    if (!parts[i].source_rows)
      throw damage("a part has no source rows", path, "the file of source rows of the part",
                   "no such file in its manifest");
    writer.append_file(path, *parts[i].source_rows);
  }
}

// Passes blocks of whole rows from the thread that reads to the thread that writes, which gives the
// memory of the blocks back.
struct Exchange {
  BoundedQueue<Block> filled{kBlocks};
  BoundedQueue<Block> free{kBlocks};
};

// Returns false if the other thread needs no more rows.
bool read_part(const std::string& path, const Manifest& manifest, Exchange& exchange) {
  const UniqueFd fd = open_for_reading(path, "npy.open");
  const NpyHeader header = read_npy_header(fd, path);
  const int64_t row_bytes = manifest.columns * item_facts(manifest.type).bytes;
  const int64_t end = header.data_offset + manifest.vectors() * row_bytes;
  if (file_size(fd, path) != end)
    throw damage("a part does not have the size in its manifest", path,
                 fmt::format("{} bytes", end), fmt::format("{} bytes", file_size(fd, path)));
  Xxh3 hash;
  std::string head(static_cast<size_t>(header.data_offset), '\0');
  pread_all(fd, head, 0, path);
  hash.update(head.data(), head.size());
  const int64_t step = std::max<int64_t>(1, kBlockBytes / row_bytes) * row_bytes;
  for (int64_t at = header.data_offset; at < end; at += step) {
    std::optional<Block> block = exchange.free.pop();
    if (!block) return false;
    block->resize(static_cast<size_t>(std::min(step, end - at)));
    pread_all(fd, std::span(reinterpret_cast<char*>(block->data()), block->size()), at, path);
    hash.update(block->data(), block->size());
    if (!exchange.filled.push(std::move(*block))) return false;
  }
  if (const std::string found = hash.hex(); found != manifest.xxh3_128)
    throw damage("a part is damaged", path, "XXH3-128 " + manifest.xxh3_128, found);
  return true;
}

void read_parts(const std::vector<std::string>& paths, const std::vector<Manifest>& manifests,
                Exchange& exchange) {
  try {
    for (size_t i = 0; i < paths.size(); ++i) {
      if (!read_part(paths[i], manifests[i], exchange)) break;
    }
    exchange.filled.finish();
  } catch (...) {
    exchange.filled.finish(std::current_exception());
  }
}

void write_rows(const JoinedFinals& joined, const std::vector<Manifest>& manifests,
                FinalFile& file) {
  Exchange exchange;
  for (size_t i = 0; i < kBlocks; ++i) exchange.free.push({});
  const std::jthread reader([&] { read_parts(joined.parts, manifests, exchange); });
  struct End {
    Exchange& exchange;
    ~End() {  // the reader then ends, and the jthread waits for it
      exchange.filled.abandon();
      exchange.free.finish();
    }
  };
  const End end{exchange};
  while (std::optional<Block> block = exchange.filled.pop()) {
    file.append_bytes(*block);
    exchange.free.push(std::move(*block));
  }
}

}  // namespace

void join_finals(const JoinedFinals& joined, const std::string& matrix_path) {
  const std::vector<Manifest> parts = manifests_of(joined.parts);
  Manifest manifest = manifest_of(joined, parts);
  create_directories_durably(parent_directory(matrix_path));
  remove_final_temp_files(matrix_path);
  NpyWriter writer(matrix_path, {.rows = {.begin = 0, .end = manifest.vectors()},
                                 .columns = manifest.columns,
                                 .item = facts_of(manifest.type).item});
  write_rows(joined, parts, writer);
  LedgerWriter ledger(ledger_path(matrix_path));
  fill_ledger(joined, parts, ledger);
  std::optional<OffsetsWriter> offsets;
  if (manifest.identity.has_offsets()) {
    offsets.emplace(offsets_path(matrix_path), manifest.identity.rows);
    fill_offsets(joined, parts, *offsets);
  }
  std::optional<PassagesWriter> passages;
  if (manifest.identity.passages) {
    passages.emplace(passages_path(matrix_path));
    fill_passages(joined, parts, *passages);
  }
  std::optional<SourceRowsWriter> source_rows;
  if (says_filtered(manifest.identity.fingerprint)) {
    source_rows.emplace(source_rows_path(matrix_path),
                        manifest.identity.rows - manifest.dropped_rows);
    fill_source_rows(joined, parts, *source_rows);
  }
  LedgerWriter set_aside(set_aside_path(matrix_path));
  set_aside.append(set_aside_of(joined, parts));
  std::string ranges;
  if (has_ranges(manifest.type))
    ranges = Ranges::of_final(joined.parts.front(), parts.front()).npy_bytes();
  publish_final(writer, std::move(manifest),
                {.ledger = &ledger,
                 .offsets = offsets ? &*offsets : nullptr,
                 .source_rows = source_rows ? &*source_rows : nullptr,
                 .set_aside = set_aside.empty() ? nullptr : &set_aside,
                 .passages = passages ? &*passages : nullptr,
                 .ranges_bytes = ranges});
}

void convert_parts(const JoinedFinals& joined, const std::string& matrix_path,
                   const Conversion& conversion) {
  const std::vector<Manifest> parts = manifests_of(joined.parts);
  const auto rows = [&](const RowBlock& block) {
    for (size_t i = 0; i < parts.size(); ++i) read_final_rows(joined.parts[i], parts[i], block);
  };
  write_final(
      {.rows = rows,
       .fill_ledger = [&](LedgerWriter& out) { fill_ledger(joined, parts, out); },
       .fill_offsets = [&](OffsetsWriter& out) { fill_offsets(joined, parts, out); },
       .fill_passages = [&](PassagesWriter& out) { fill_passages(joined, parts, out); },
       .set_aside = set_aside_of(joined, parts),
       .columns = conversion.columns,
       .ranges = conversion.ranges,
       .fill_source_rows = [&](SourceRowsWriter& out) { fill_source_rows(joined, parts, out); }},
      matrix_path, manifest_of(joined, parts), conversion.format);
}

}  // namespace encode
