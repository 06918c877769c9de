#include "store/join_final.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/output_types.h"
#include "store/final.h"
#include "store/final_values.h"
#include "store/fingerprint/fingerprint.h"
#include "store/joined_file.h"
#include "store/records.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

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
                       .parts = parts.front().parts,
                       .made_from = joined.made_from};
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

std::vector<JoinedPart> rows_of(const JoinedFinals& joined,
                                const std::vector<Manifest>& manifests) {
  std::vector<JoinedPart> parts;
  for (size_t i = 0; i < manifests.size(); ++i)
    parts.push_back({.path = joined.parts[i],
                     .rows = manifests[i].vectors(),
                     .xxh3_128 = manifests[i].xxh3_128});
  return parts;
}

}  // namespace

void join_finals(const JoinedFinals& joined, const std::string& matrix_path) {
  const std::vector<Manifest> parts = manifests_of(joined.parts);
  Manifest manifest = manifest_of(joined, parts);
  create_directories_durably(parent_directory(matrix_path));
  remove_final_temp_files(matrix_path);
  JoinedFile file(matrix_path, rows_of(joined, parts),
                  {.columns = manifest.columns, .item = facts_of(manifest.type).item});
  file.copy();
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
  publish_final(file, std::move(manifest),
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
