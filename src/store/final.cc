#include "store/final.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/json_values.h"
#include "base/npy.h"
#include "base/output_types.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "columnar/matrix_reader.h"
#include "store/audit.h"
#include "store/final_values.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"
#include "store/matrix_file.h"
#include "store/records.h"
#include "store/sealed_json.h"
#include "store/set_aside.h"

namespace encode {
namespace {

bool exists(const std::string& path) { return path_exists(path, "store.final"); }

Json ranges_json(const Manifest& manifest) {
  if (!has_ranges(manifest.type)) return nullptr;
  return {{"given", manifest.ranges_given}, {"xxh3_128", manifest.ranges_xxh3_128}};
}

// Returns the key "file" of the manifest of a table. It has the sources of the columns only if a
// column was renamed.
Json file_format_json(const Manifest& manifest) {
  const auto all = [&](std::string TableColumn::*text) {
    return array_of(manifest.table_columns, [text](const auto& column) { return column.*text; });
  };
  const Json names = all(&TableColumn::name);
  Json sources = all(&TableColumn::source);
  Json json = {{"format", to_string(manifest.file)}, {"columns", names}};
  if (sources != names) json["sources"] = std::move(sources);
  return json;
}

std::string manifest_text(const Manifest& manifest) {
  const Json ledger = manifest.ledger ? to_json(*manifest.ledger) : Json();
  const Json offsets = manifest.offsets ? to_json(*manifest.offsets) : Json();
  Json object = {{"format", kStoreFormat},
                 {"name", manifest.identity.name},
                 {"rows", manifest.identity.rows},
                 {"dim", manifest.identity.dim},
                 {"dtype", npy_type(manifest.type)},
                 {"output_dtype", to_string(manifest.type)},
                 {"columns", manifest.columns},
                 {"ranges", ranges_json(manifest)},
                 {"file_bytes", manifest.file_bytes},
                 {"xxh3_128", manifest.xxh3_128},
                 {"stats", to_json(manifest.stats)},
                 {"origins", to_json(manifest.origins)},
                 {"parts", manifest.parts},
                 {"ledger", ledger},
                 {"offsets", offsets},
                 {"fingerprint", Json::parse(manifest.identity.fingerprint)}};
  if (manifest.file != MatrixFormat::kNpy) {
    object["file"] = file_format_json(manifest);
  }
  if (manifest.source_rows) object["source_rows"] = to_json(*manifest.source_rows);
  if (manifest.identity.filtered > 0) object["filtered"] = manifest.identity.filtered;
  if (manifest.identity.first_row > 0) object["first_row"] = manifest.identity.first_row;
  if (!manifest.identity.inputs.empty()) {
    object["inputs"] = array_of(manifest.identity.inputs, [](const InputPart& part) {
      return Json{{"path", part.path}, {"first_row", part.first_row}};
    });
  }
  if (manifest.identity.input_list) object["input_list"] = to_json(*manifest.identity.input_list);
  if (!manifest.identity.model.empty()) object["model"] = manifest.identity.model;
  if (!manifest.made_from.empty()) object["made_from"] = manifest.made_from;
  if (manifest.passages) object["passages"] = to_json(*manifest.passages);
  if (manifest.quarantine != QuarantinePolicy::kError) {
    object["quarantine"] = to_string(manifest.quarantine);
    object["dropped_rows"] = manifest.dropped_rows;
    if (manifest.set_aside) object["set_aside"] = to_json(*manifest.set_aside);
  }
  return seal(object, /*indent=*/2) + "\n";
}

// Reads the origins of the chunks. A manifest of format 1 has only the names of the devices.
std::vector<ChunkOrigin> origins(const JsonFields& fields, const std::string& where) {
  if (fields.has("origins")) return chunk_origins_from(fields, where);
  std::vector<ChunkOrigin> origins;
  for (std::string& device : strings_from(fields, "devices"))
    origins.push_back({.device = std::move(device)});
  return origins;
}

void read_inputs(const JsonFields& fields, const std::string& where, Manifest& manifest) {
  for (const Json& input : fields.array("inputs")) {
    const JsonFields part(input, where + ", inputs", "store.damaged");
    manifest.identity.inputs.push_back(
        {.path = part.string("path"),
         .first_row = part.integer("first_row", 0, manifest.identity.range().end)});
  }
}

void read_quarantine(const JsonFields& fields, const std::string& where, Manifest& manifest) {
  manifest.quarantine = named_value(fields, "quarantine", kQuarantinePolicies);
  manifest.dropped_rows = fields.integer("dropped_rows", 0, manifest.identity.rows);
  if (fields.has("set_aside"))
    manifest.set_aside = file_seal_from_json(fields.object("set_aside"), where);
}

void read_passages(const JsonFields& fields, const std::string& where, Manifest& manifest) {
  manifest.passages = file_seal_from_json(fields.object("passages"), where);
  if (!manifest.offsets) fields.refuse("passages", "a key offsets beside it", "none");
  manifest.identity.passages = true;
}

void read_file_format(const JsonFields& fields, const std::string& where, Manifest& manifest) {
  const JsonFields file(fields.object("file"), where + ", file", "store.damaged");
  manifest.file = named_value(file, "format", kMatrixFormats);
  if (manifest.file == MatrixFormat::kNpy) file.refuse("format", "parquet or arrow");
  std::vector<std::string> names = strings_from(file, "columns");
  // Older manifests, and manifests of tables without renamed columns, have no sources.
  std::vector<std::string> sources = file.has("sources") ? strings_from(file, "sources") : names;
  if (sources.size() != names.size())
    file.refuse("sources", fmt::format("{} names", names.size()), fmt::to_string(sources.size()));
  for (size_t i = 0; i < names.size(); ++i)
    manifest.table_columns.push_back(
        {.name = std::move(names[i]), .source = std::move(sources[i])});
}

Manifest parse_manifest(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, "store.damaged");
  Manifest manifest = {
      .identity = {.name = fields.string("name"),
                   .fingerprint = fields.object("fingerprint").dump(),
                   .rows = fields.integer("rows", 0, kMaxInteger),
                   .dim = fields.integer("dim", 1, kMaxInteger),
                   .first_row = fields.integer_or("first_row", 0, 0, kMaxInteger)},
      // Older manifests have no "output_dtype", because all matrices were float32.
      .type = parse_output_type(fields.string_or("output_dtype", "float32"), where),
      .file_bytes = fields.integer("file_bytes", 0, kMaxInteger),
      .xxh3_128 = fields.string("xxh3_128"),
      .stats = row_stats_from_json(fields.object("stats"), where),
      .origins = origins(fields, where),
      .parts = strings_from(fields, "parts")};
  manifest.identity.filtered = fields.integer_or("filtered", 0, 0, kMaxInteger);
  manifest.identity.model = fields.string_or("model", "");  // older manifests do not have it
  manifest.made_from = fields.string_or("made_from", "");
  manifest.columns = fields.integer_or("columns", manifest.identity.dim, 1, kMaxInteger);
  if (fields.string("dtype") != npy_type(manifest.type))
    fields.refuse("dtype", std::string(npy_type(manifest.type)), fields.string("dtype"));
  if (has_ranges(manifest.type)) {
    const JsonFields ranges(fields.object("ranges"), where + ", ranges", "store.damaged");
    manifest.ranges_given = ranges.boolean_or("given", false);
    manifest.ranges_xxh3_128 = ranges.string("xxh3_128");
  }
  if (!json.value("ledger", Json()).is_null())
    manifest.ledger = file_seal_from_json(fields.object("ledger"), where);
  if (!json.value("offsets", Json()).is_null()) {
    manifest.offsets = file_seal_from_json(fields.object("offsets"), where);
    manifest.identity.token_embeddings = !fields.has("passages");
  }
  if (fields.has("passages")) read_passages(fields, where, manifest);
  if (fields.has("source_rows"))
    manifest.source_rows = file_seal_from_json(fields.object("source_rows"), where);
  if (fields.has("file")) read_file_format(fields, where, manifest);
  if (fields.has("inputs")) read_inputs(fields, where, manifest);
  if (fields.has("input_list"))
    manifest.identity.input_list = file_list_from_json(fields.object("input_list"), where);
  if (fields.has("quarantine")) read_quarantine(fields, where, manifest);
  return manifest;
}

// Returns true if the first bytes and the size of the file fit the manifest.
bool has_shape(const std::string& path, const Manifest& manifest) {
  const UniqueFd fd = open_for_reading(path, "npy.open");
  if (manifest.file != MatrixFormat::kNpy)
    return file_size(fd, path) == manifest.file_bytes && matrix_format(path) == manifest.file;
  const NpyHeader header = read_npy_header(fd, path);
  return header.rows == manifest.vectors() && header.cols == manifest.columns &&
         header.item == facts_of(manifest.type).item && header.file_bytes() == manifest.file_bytes;
}

bool same_identity(const StreamIdentity& a, const StreamIdentity& b) {
  return a.fingerprint == b.fingerprint && a.range() == b.range() && a.dim == b.dim;
}

class StandardFinalWriter : public FinalWriter {
 public:
  StandardFinalWriter(std::string matrix_path, StreamIdentity identity)
      : matrix_path_(std::move(matrix_path)),
        identity_(std::move(identity)),
        writer_(matrix_path_, {.rows = identity_.range(),
                               .columns = identity_.dim,
                               .counted_at_end = identity_.has_offsets()}),
        ledger_(ledger_path(matrix_path_)) {
    if (identity_.has_offsets()) offsets_.emplace(offsets_path(matrix_path_), identity_.rows);
    if (identity_.passages) passages_.emplace(passages_path(matrix_path_));
  }

  void append(std::span<const float> values) override { writer_.append(values); }
  void append_lengths(std::span<const int32_t> lengths) override {
    offsets_.value().append(lengths);
  }
  void append_passages(std::span<const PassagePlace> passages) override {
    passages_.value().append(passages);
  }
  void append_truncated(std::span<const TruncatedRow> rows) override { ledger_.append(rows); }
  int64_t rows_written() const override { return writer_.rows_written(); }
  void publish(const RowStats& stats, const ChunkOrigin& origin) override {
    Manifest manifest;
    manifest.identity = identity_;
    manifest.columns = identity_.dim;
    manifest.stats = stats;
    manifest.origins = {origin};
    publish_final(writer_, std::move(manifest),
                  {.ledger = &ledger_,
                   .offsets = offsets_ ? &*offsets_ : nullptr,
                   .passages = passages_ ? &*passages_ : nullptr});
  }

 private:
  std::string matrix_path_;
  StreamIdentity identity_;
  NpyWriter writer_;
  LedgerWriter ledger_;
  std::optional<OffsetsWriter> offsets_;
  std::optional<PassagesWriter> passages_;
};

}  // namespace

void remove_final_temp_files(const std::string& matrix_path) {
  for (const std::string& path : final_files(matrix_path)) remove_temp_files(path);
}

void publish_final(CompleteFile& writer, Manifest manifest, const BesideFinal& beside) {
  const std::string path = manifest_path(writer.path());
  const std::string ranges = ranges_path(writer.path());
  const std::string publishing = publishing_path(writer.path());
  write_file_durably(publishing, seal({{"name", manifest.identity.name}}) + "\n");
  for (const std::string& old : {path, ranges, ledger_path(writer.path()),
                                 offsets_path(writer.path()), set_aside_path(writer.path()),
                                 source_rows_path(writer.path()), passages_path(writer.path())}) {
    if (!exists(old)) continue;
    remove_file(old);
    sync_directory(parent_directory(old));
  }
  if (!beside.ranges_bytes.empty()) {
    write_file_durably(ranges, beside.ranges_bytes);
    manifest.ranges_xxh3_128 = xxh3_hex(beside.ranges_bytes);
  }
  writer.publish();
  if (beside.ledger != nullptr && !beside.ledger->empty())
    manifest.ledger = beside.ledger->publish();
  if (beside.offsets != nullptr) manifest.offsets = beside.offsets->publish();
  if (beside.source_rows != nullptr) manifest.source_rows = beside.source_rows->publish();
  if (beside.set_aside != nullptr) manifest.set_aside = beside.set_aside->publish();
  if (beside.passages != nullptr)
    manifest.passages = beside.passages->publish(writer.rows_written());
  manifest.file_bytes = writer.bytes_written();
  manifest.xxh3_128 = writer.xxh3_hex();
  write_file_durably(path, manifest_text(manifest));
  remove_file(publishing);
}

std::optional<Manifest> read_manifest(const std::string& matrix_path) {
  const std::string path = manifest_path(matrix_path);
  if (!exists(path)) return std::nullopt;
  try {
    const Json json = unseal_file(path, kMaxSealedBytes, "store.manifest").object;
    check_format(json, path);
    return parse_manifest(json, path);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kConfig || error.detail().code == "store.format") throw;
    throw damage(fmt::format("the manifest is damaged: {}", error.detail().what), path,
                 error.detail().expected, error.detail().found);
  }
}

bool ranges_fit(const std::string& matrix_path, const Manifest& manifest) {
  if (!has_ranges(manifest.type)) return true;
  const std::string path = ranges_path(matrix_path);
  return exists(path) && xxh3_file(path) == manifest.ranges_xxh3_128;
}

bool has_format(const Manifest& manifest, const FinalFormat& format) {
  const bool same = manifest.type == format.type && manifest.file == format.file &&
                    manifest.table_columns == format.columns;
  if (!same) return false;
  if (!has_ranges(format.type)) return true;
  if (manifest.ranges_given != !format.ranges_file.empty()) return false;
  return !manifest.ranges_given ||
         xxh3_hex(ranges_bytes_of_file(format, manifest.identity.dim)) == manifest.ranges_xxh3_128;
}

FinalState final_state(const std::string& matrix_path, const StreamIdentity& identity,
                       bool check_hash) {
  if (!exists(matrix_path)) return FinalState::kAbsent;
  try {
    const std::optional<Manifest> manifest = read_manifest(matrix_path);
    if (!manifest) return FinalState::kDamaged;
    if (!same_identity(manifest->identity, identity)) return FinalState::kForeign;
    const bool fits = has_shape(matrix_path, *manifest) && ranges_fit(matrix_path, *manifest);
    if (!fits || (check_hash && xxh3_file(matrix_path) != manifest->xxh3_128))
      return FinalState::kDamaged;
    const auto damaged = [](const std::string& path, const std::optional<FileSeal>& seal) {
      return seal && !check_sealed_file(path, *seal).empty();
    };
    if (!check_ledger(matrix_path, *manifest).empty() ||
        damaged(offsets_path(matrix_path), manifest->offsets) ||
        damaged(source_rows_path(matrix_path), manifest->source_rows) ||
        damaged(set_aside_path(matrix_path), manifest->set_aside) ||
        damaged(passages_path(matrix_path), manifest->passages)) {
      return FinalState::kDamaged;
    }
    return FinalState::kValid;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kData) return FinalState::kDamaged;
    throw;
  }
}

std::vector<SetAsideRow> set_aside_rows(const std::string& matrix_path, const Manifest& manifest) {
  const std::string path = set_aside_path(matrix_path);
  std::vector<SetAsideRow> rows;
  if (manifest.set_aside) rows = read_set_aside(path, *manifest.set_aside);
  const bool listed = manifest.dropped_rows == 0 || manifest.dropped_rows == std::ssize(rows);
  if (manifest.parts.empty() && !listed)
    throw damage("the list of the dropped rows does not have all of them", path,
                 format_count(manifest.dropped_rows, "row", "rows") + ", as in the manifest",
                 format_count(std::ssize(rows), "row", "rows"));
  return rows;
}

std::string check_ledger(const std::string& matrix_path, const Manifest& manifest) {
  if (manifest.ledger) return check_sealed_file(ledger_path(matrix_path), *manifest.ledger);
  // The parts of a combined matrix have the ledgers.
  const bool missing = manifest.parts.empty() && manifest.stats.truncated_rows > 0;
  return missing ? "the manifest counts truncated rows and names no list of them" : "";
}

std::string explain_foreign(const std::string& matrix_path, const StreamIdentity& identity) {
  const std::optional<Manifest> manifest = read_manifest(matrix_path);
  return manifest ? describe_differences(manifest->identity, identity) : "no manifest";
}

std::unique_ptr<FinalWriter> begin_final(const std::string& matrix_path,
                                         const StreamIdentity& identity) {
  check_identity(identity);
  create_directories_durably(parent_directory(matrix_path));
  remove_final_temp_files(matrix_path);
  return std::make_unique<StandardFinalWriter>(matrix_path, identity);
}

}  // namespace encode
