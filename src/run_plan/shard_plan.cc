#include "run_plan/shard_plan.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "protocol/scan_json.h"
#include "run_plan/shard_blocks.h"
#include "run_plan/shard_settings.h"
#include "store/file_list.h"
#include "store/fingerprint/fingerprint.h"
#include "store/identity_fields.h"
#include "store/layout.h"
#include "store/run_files.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr ErrorCode kPlanCode = "store.damaged";
constexpr int64_t kMostPlanBytes = int64_t{1} << 30;

// Returns the files that have these rows, and the empty files among them and at both ends: together
// the shards have all files of the input. `all` is the number of rows of the input.
std::vector<InputPart> inputs_of(const std::vector<InputPart>& files, RowRange rows, int64_t all) {
  std::vector<InputPart> found;
  for (size_t i = 0; i < files.size(); ++i) {
    const int64_t begin = files[i].first_row;
    const int64_t end = i + 1 < files.size() ? files[i + 1].first_row : all;
    const bool has_rows = begin < rows.end && end > rows.begin;
    const bool is_empty_there = begin == end && begin >= rows.begin && end <= rows.end;
    if (has_rows || is_empty_there) found.push_back(files[i]);
  }
  return found;
}

std::string file_text(const Json& json) { return seal(json) + "\n"; }

// Reads a file of the plan and calls `parse` with its fields. Throws Error "store.damaged" if a
// field is missing or wrong.
template <typename Parse>
auto read_sealed(const std::string& path, const Parse& parse) {
  try {
    SealedFile file = unseal_file(path, kMostPlanBytes, "shards.missing");
    const JsonFields fields(file.object, path, kPlanCode);
    fields.integer("format", kFormat, kFormat);
    auto value = parse(fields);
    return std::pair(std::move(value), std::move(file.checksum));
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kConfig) throw;
    ErrorDetail detail =
        damage(error.detail().what, path, error.detail().expected, error.detail().found).detail();
    detail.hint =
        "remove shards.json and run `encode shards plan` again, with the same number of "
        "shards: the work of the attempts is kept";
    throw Error(std::move(detail));
  }
}

Json to_json(const ShardedStream& stream) {
  Json begins = Json::array();
  Json blocks = Json::array();
  Json columns = Json::array();
  bool has_columns = false;
  for (const ShardRows& shard : stream.shards) {
    begins.push_back(shard.rows.begin);
    blocks.push_back(shard.blocks);
    columns.push_back(shard.columns);
    has_columns = has_columns || !shard.columns.empty();
  }
  Json json = {{"name", stream.identity.name},
               {"fingerprint", Json::parse(stream.identity.fingerprint)},
               {"rows", stream.identity.rows},
               {"dim", stream.identity.dim},
               {"token_embeddings", stream.identity.token_embeddings},
               {"model", stream.identity.model},
               {"scan", to_json(stream.scan)},
               {"first_rows", std::move(begins)},
               {"blocks", std::move(blocks)}};
  if (stream.identity.passages) json["passages"] = true;
  if (has_columns) json["columns"] = std::move(columns);
  if (stream.chunk_rows > 0) json["chunk_rows"] = stream.chunk_rows;
  return json;
}

std::string hex_of_blocks(const FieldBlocks& blocks) {
  return hex_of(std::as_bytes(std::span(blocks)));
}

// Machines may see the cache directory, and the list of files in it, at different places.
void place_list(const std::string& cache_dir, const std::string& stream, InputScan& scan) {
  if (scan.listed)
    scan.listed->list.path = std::filesystem::absolute(RunFiles(cache_dir).file_list(stream));
}

ShardedStream stream_from_json(const Json& json, int64_t shards, const std::string& where) {
  const JsonFields fields(json, where, kPlanCode);
  ShardedStream stream;
  stream.identity = identity_from(fields);
  stream.identity.model = fields.string("model");
  stream.scan = scan_from_json(fields.object("scan"));
  stream.chunk_rows = fields.integer_or("chunk_rows", 0, 0, kMaxInteger);
  stream.identity.filtered = stream.scan.filtered;
  place_list(parent_directory(where), stream.identity.name, stream.scan);
  if (stream.scan.listed) stream.identity.input_list = stream.scan.listed->list;
  for (const InputScan::File& file : stream.scan.files)
    stream.identity.inputs.push_back({.path = file.path, .first_row = file.first_row});
  const Json& begins = fields.array("first_rows");
  const Json& blocks = fields.array("blocks");
  const Json columns = fields.has("columns") ? fields.array("columns") : Json();
  const auto count = static_cast<size_t>(shards);
  if (begins.size() != count || blocks.size() != count ||
      (!columns.is_null() && columns.size() != count))
    fields.refuse("first_rows", fmt::format("{} rows and hashes", shards),
                  fmt::format("{} rows, {} hashes", begins.size(), blocks.size()));
  for (size_t i = 0; i < count; ++i) {
    if (!begins[i].is_number_unsigned() || !blocks[i].is_string() ||
        (!columns.is_null() && !columns[i].is_string()))
      fields.refuse("first_rows", "rows and hashes", "other values");
  }
  const auto border = [&](size_t i) {
    return i == count ? stream.identity.rows : begins[i].get<int64_t>();
  };
  for (size_t i = 0; i < count; ++i) {
    if (border(i) > border(i + 1) || (i == 0 && border(i) != 0))
      fields.refuse("first_rows", "ascending rows from 0", fmt::to_string(border(i)));
    stream.shards.push_back({.rows = {.begin = border(i), .end = border(i + 1)},
                             .blocks = blocks[i].get<std::string>(),
                             .columns = columns.is_null() ? "" : columns[i].get<std::string>()});
  }
  return stream;
}

std::string text_of(const ShardPlan& plan) {
  Json streams = Json::array();
  for (const ShardedStream& stream : plan.streams) streams.push_back(to_json(stream));
  return file_text({{"format", kFormat},
                    {"shards", plan.shards},
                    {"settings", plan.settings},
                    {"streams", std::move(streams)}});
}

FieldBlocks field_blocks_from_json(const JsonFields& fields, const Json& json) {
  const std::optional<std::vector<std::byte>> bytes =
      json.is_string() ? bytes_of_hex(json.get<std::string>()) : std::nullopt;
  constexpr size_t kBlock = sizeof(FieldBlocks::value_type);
  if (!bytes || bytes->size() % kBlock != 0) fields.refuse("columns", "hashes", "another text");
  FieldBlocks blocks(bytes->size() / kBlock);
  for (size_t i = 0; i < blocks.size(); ++i)
    std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(i * kBlock), kBlock,
                blocks[i].begin());
  return blocks;
}

// Reads what a shard reads of the inputs. Throws if it is not what the plan has: a network file
// system may show the file of an older plan.
void read_scans(const JsonFields& fields, const std::string& cache_dir, Shard& shard) {
  const size_t streams = shard.plan.streams.size();
  const Json& scans = fields.array("scans");
  const Json columns = fields.has("columns") ? fields.array("columns") : Json(streams, "");
  if (scans.size() != streams || columns.size() != streams)
    fields.refuse("scans", fmt::format("{} scans", streams),
                  fmt::format("{} scans, {} of columns", scans.size(), columns.size()));
  for (size_t i = 0; i < streams; ++i) {
    InputScan& scan = shard.scans.emplace_back(scan_from_json(scans[i]));
    place_list(cache_dir, shard.plan.streams[i].identity.name, scan);
    const FieldBlocks& blocks =
        shard.field_blocks.emplace_back(field_blocks_from_json(fields, columns[i]));
    const ShardRows& rows = shard.plan.streams[i].shards[static_cast<size_t>(shard.index)];
    const std::string expected =
        fmt::format("{} rows, {} {}", rows.rows.size(), rows.blocks, rows.columns);
    const std::string found = fmt::format("{} rows, {} {}", scan.rows,
                                          hash_of_blocks(scan, rows.rows), hash_of_columns(blocks));
    if (found != expected) fields.refuse("scans", expected, found);
    const std::optional<ListedFiles>& whole = shard.plan.streams[i].scan.listed;
    if (whole.has_value() != scan.listed.has_value() || (whole && whole->list != scan.listed->list))
      fields.refuse("scans", "the list of files of the plan", "another list");
  }
}

}  // namespace

std::string ShardFiles::plan() const { return join_path(cache_dir_, "shards.json"); }
std::string ShardFiles::shard(int64_t index) const {
  return join_path(cache_dir_, fmt::format("shards/{:05}", index));
}
std::string ShardFiles::scan(int64_t index) const { return join_path(shard(index), "scan.json"); }
std::string ShardFiles::part(int64_t index) const { return join_path(shard(index), "part.json"); }
std::string ShardFiles::server_lost(int64_t index) const {
  return join_path(shard(index), "server_lost.json");
}

StreamIdentity ShardPlan::identity(size_t stream, int64_t shard) const {
  const ShardRows& rows = streams[stream].shards[static_cast<size_t>(shard)];
  StreamIdentity identity = streams[stream].identity;
  identity.fingerprint = with_rows(identity.fingerprint, rows.blocks);
  identity.first_row = rows.rows.begin;
  identity.rows = rows.rows.size();
  identity.filtered = 0;  // the scan does not say how many records of the shard are left out
  identity.inputs = inputs_of(identity.inputs, rows.rows, streams[stream].identity.rows);
  return identity;
}

void require_plan_of(const RunConfig& config, const ShardPlan& plan) {
  const std::map<std::string, std::string> settings = settings_of_shards(config);
  const auto [planned, found] = std::ranges::mismatch(plan.settings, settings);
  if (planned == plan.settings.end() && found == settings.end()) return;
  const std::string& name = planned == plan.settings.end() ? found->first : planned->first;
  const auto value = [&](const std::map<std::string, std::string>& of) {
    const auto place = of.find(name);
    return place == of.end() ? "no such setting"
                             : fmt::format("{} '{}'", name, preview(place->second));
  };
  throw Error({.code = "shards.foreign",
               .what = "the plan of the shards was made with other settings",
               .where = ShardFiles(config.store.cache_dir).plan(),
               .expected = value(plan.settings),
               .found = value(settings),
               .hint = "give the config and the flags of the plan, or plan again with these: "
                       "encode shards plan"});
}

void write_shard_plan(const std::string& cache_dir, const ShardPlan& plan,
                      const std::vector<StreamPlan>& streams) {
  const ShardFiles files(cache_dir);
  for (const StreamPlan& stream : streams) {
    if (stream.scan.listed) write_file_list(stream.scan.listed->list, stream.scan.files);
  }
  for (int64_t shard = 0; shard < plan.shards; ++shard) {
    Json scans = Json::array();
    Json columns = Json::array();
    bool has_columns = false;
    for (size_t i = 0; i < streams.size(); ++i) {
      const RowRange rows = plan.streams[i].shards[static_cast<size_t>(shard)].rows;
      scans.push_back(to_json(scan_of_rows(streams[i].scan, rows)));
      columns.push_back(hex_of_blocks(field_blocks_of(streams[i], rows)));
      has_columns = has_columns || !streams[i].field_blocks.empty();
    }
    Json json = {{"format", kFormat}, {"scans", std::move(scans)}};
    if (has_columns) json["columns"] = std::move(columns);
    create_directories_durably(files.shard(shard));
    write_file_durably(files.scan(shard), file_text(json));
  }
  write_file_durably(files.plan(), text_of(plan));
}

std::string checksum_of(const ShardPlan& plan) { return stated_checksum(text_of(plan)); }

ShardPlan read_shard_plan(const std::string& cache_dir) {
  const std::string path = ShardFiles(cache_dir).plan();
  if (!entry_exists(path, "shards.missing")) {
    throw Error({.code = "shards.missing",
                 .what = "there is no plan of shards",
                 .where = path,
                 .expected = "the plan that `encode shards plan` writes",
                 .found = "no file",
                 .hint = "run: encode shards plan --shards N, with the same config and flags"});
  }
  auto [plan, checksum] = read_sealed(path, [&](const JsonFields& fields) {
    ShardPlan read{.shards = fields.integer("shards", 1, kMostShards)};
    for (const Json& stream : fields.array("streams"))
      read.streams.push_back(stream_from_json(stream, read.shards, path));
    for (const auto& [name, value] : fields.object("settings").items()) {
      if (!value.is_string()) fields.refuse("settings", "strings", value.dump());
      read.settings[name] = value.get<std::string>();
    }
    return read;
  });
  plan.checksum = std::move(checksum);
  return std::move(plan);
}

Shard read_shard(const std::string& cache_dir, int64_t index, std::optional<int64_t> shards) {
  Shard shard{.index = index, .plan = read_shard_plan(cache_dir)};
  const ShardFiles files(cache_dir);
  if (shards && *shards != shard.plan.shards) {
    throw Error({.code = "shards.number",
                 .what = "the plan has another number of shards",
                 .where = files.plan(),
                 .expected = format_count(shard.plan.shards, "shard", "shards"),
                 .found = format_count(*shards),
                 .hint = fmt::format("give --shard {}/{}", index, shard.plan.shards)});
  }
  if (index < 0 || index >= shard.plan.shards) {
    throw Error({.code = "shards.number",
                 .what = "the plan has no shard of this number",
                 .where = files.plan(),
                 .expected = fmt::format("0 to {}", shard.plan.shards - 1),
                 .found = fmt::to_string(index),
                 .hint = "number the shards from 0"});
  }
  read_sealed(files.scan(index), [&](const JsonFields& fields) {
    read_scans(fields, cache_dir, shard);
    return true;
  });
  for (InputScan& scan : shard.scans) read_listed_files(scan);
  return shard;
}

}  // namespace encode
