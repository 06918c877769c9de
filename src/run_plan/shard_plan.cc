#include "run_plan/shard_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/input_format.h"
#include "base/json_values.h"
#include "base/units.h"
#include "protocol/scan_json.h"
#include "run_plan/shard_settings.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr ErrorCode kPlanCode = "store.damaged";
constexpr int64_t kMostPlanBytes = int64_t{1} << 30;

// The rows at which a stream may be cut, ascending, without 0 and the number of its rows.
struct Cuts {
  bool anywhere = true;
  std::vector<int64_t> rows;  // if not `anywhere`, only here; else the beginnings of blocks
};

bool is_compressed(const StreamPlan& stream) {
  return std::any_of(stream.scan.files.begin(), stream.scan.files.end(),
                     [&](const InputScan::File& file) {
                       InputOptions options = stream.config.input;
                       options.path = file.path;
                       return input_format(options).compression != Compression::kNone;
                     });
}

Cuts cuts_of(const StreamPlan& stream) {
  Cuts cuts;
  cuts.anywhere = !is_compressed(stream);
  if (cuts.anywhere) {
    for (const InputScan::Checkpoint& block : stream.scan.checkpoints)
      cuts.rows.push_back(block.row);
  } else {
    for (const InputScan::File& file : stream.scan.files) cuts.rows.push_back(file.first_row);
  }
  std::erase_if(cuts.rows, [&](int64_t row) { return row <= 0 || row >= stream.scan.rows; });
  return cuts;
}

// Both streams must be cut at the same rows.
Cuts common(Cuts a, const Cuts& b) {
  if (a.anywhere) return b.anywhere ? a : b;
  if (b.anywhere) return a;
  std::vector<int64_t> rows;
  std::ranges::set_intersection(a.rows, b.rows, std::back_inserter(rows));
  a.rows = std::move(rows);
  return a;
}

int64_t nearest(const std::vector<int64_t>& rows, int64_t wanted) {
  const auto after = std::ranges::lower_bound(rows, wanted);
  if (after == rows.begin()) return *after;
  if (after == rows.end()) return rows.back();
  return *after - wanted < wanted - *(after - 1) ? *after : *(after - 1);
}

// Returns the first row of each shard, and at the end the number of rows. A shard reads whole
// blocks, so it begins with a block if that moves its border by a small part of a shard only.
std::vector<int64_t> borders(int64_t rows, int64_t shards, const Cuts& cuts) {
  constexpr int64_t kLeastParts = 40;  // a border moves by at most 1/40 of a shard
  std::vector<int64_t> found = {0};
  for (int64_t shard = 1; shard < shards; ++shard) {
    // rows * shard / shards, which could overflow
    int64_t border = rows / shards * shard + rows % shards * shard / shards;
    if (!cuts.rows.empty()) {
      const int64_t near = nearest(cuts.rows, border);
      const int64_t moved = near > border ? near - border : border - near;
      if (!cuts.anywhere || moved <= rows / shards / kLeastParts) border = near;
    }
    found.push_back(std::max(border, found.back()));
  }
  found.push_back(rows);
  return found;
}

void require_cuts(const StreamPlan& stream, int64_t shards, const Cuts& cuts) {
  if (cuts.anywhere || shards <= std::ssize(cuts.rows) + 1) return;
  throw Error(
      {.code = "shards.config",
       .what = "a compressed file cannot be divided",
       .where = stream.input_name(),
       .expected =
           fmt::format("at most {} shards, because a shard has whole files", cuts.rows.size() + 1),
       .found = format_count(shards, "shard", "shards"),
       .hint = "plan fewer shards, or decompress the files, or split them into more files"});
}

// Returns the blocks of the scan that have these rows, as indices [begin, end).
std::pair<size_t, size_t> blocks_of(const InputScan& scan, RowRange rows) {
  const auto begins_after = [](int64_t row, const InputScan::Checkpoint& block) {
    return row < block.row;
  };
  const auto& blocks = scan.checkpoints;
  if (rows.size() == 0 || blocks.empty()) return {0, 0};
  const auto begin = std::upper_bound(blocks.begin(), blocks.end(), rows.begin, begins_after) - 1;
  const auto end = std::upper_bound(begin, blocks.end(), rows.end - 1, begins_after);
  return {static_cast<size_t>(begin - blocks.begin()), static_cast<size_t>(end - blocks.begin())};
}

std::string hash_of_blocks(const InputScan& scan, RowRange rows) {
  Xxh3 hash;
  hash.update(&rows, sizeof rows);
  const auto [begin, end] = blocks_of(scan, rows);
  for (size_t i = begin; i < end; ++i) {
    const InputScan::Checkpoint& block = scan.checkpoints[i];
    hash.update(&block.row, sizeof block.row);
    hash.update(block.xxh3_128.data(), block.xxh3_128.size());
  }
  return hash.hex();
}

// Returns the files that have these rows.
std::vector<InputPart> inputs_of(const std::vector<InputPart>& files, RowRange rows) {
  std::vector<InputPart> found;
  for (size_t i = 0; i < files.size(); ++i) {
    const bool ends_before = i + 1 < files.size() && files[i + 1].first_row <= rows.begin;
    if (files[i].first_row < rows.end && !ends_before) found.push_back(files[i]);
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
  return {
      {"name", stream.identity.name},
      {"fingerprint", Json::parse(stream.identity.fingerprint)},
      {"rows", stream.identity.rows},
      {"dim", stream.identity.dim},
      {"token_embeddings", stream.identity.token_embeddings},
      {"model", stream.identity.model},
      {"scan", to_json(stream.scan)},
      {"first_rows", array_of(stream.shards, [](const auto& shard) { return shard.rows.begin; })},
      {"blocks", array_of(stream.shards, [](const auto& shard) { return shard.blocks; })}};
}

ShardedStream stream_from_json(const Json& json, int64_t shards, const std::string& where) {
  const JsonFields fields(json, where, kPlanCode);
  ShardedStream stream;
  stream.identity = {.name = fields.string("name"),
                     .fingerprint = fields.object("fingerprint").dump(),
                     .rows = fields.integer("rows", 0, kMaxInteger),
                     .dim = fields.integer("dim", 1, kMaxInteger),
                     .token_embeddings = fields.boolean_or("token_embeddings", false),
                     .model = fields.string("model")};
  stream.scan = scan_from_json(fields.object("scan"));
  for (const InputScan::File& file : stream.scan.files)
    stream.identity.inputs.push_back({.path = file.path, .first_row = file.first_row});
  const Json& begins = fields.array("first_rows");
  const Json& blocks = fields.array("blocks");
  const auto count = static_cast<size_t>(shards);
  if (begins.size() != count || blocks.size() != count)
    fields.refuse("first_rows", fmt::format("{} rows and hashes", shards),
                  fmt::format("{} rows, {} hashes", begins.size(), blocks.size()));
  for (size_t i = 0; i < count; ++i) {
    if (!begins[i].is_number_unsigned() || !blocks[i].is_string())
      fields.refuse("first_rows", "rows and hashes", "other values");
  }
  const auto border = [&](size_t i) {
    return i == count ? stream.identity.rows : begins[i].get<int64_t>();
  };
  for (size_t i = 0; i < count; ++i) {
    if (border(i) > border(i + 1) || (i == 0 && border(i) != 0))
      fields.refuse("first_rows", "ascending rows from 0", fmt::to_string(border(i)));
    stream.shards.push_back({.rows = {.begin = border(i), .end = border(i + 1)},
                             .blocks = blocks[i].get<std::string>()});
  }
  return stream;
}

// Reads the scans of a shard. Throws if they are not those of the plan: a network file system may
// show the file of an older plan.
std::vector<InputScan> scans_of_shard(const JsonFields& fields, const ShardPlan& plan,
                                      int64_t index) {
  std::vector<InputScan> scans;
  for (const Json& scan : fields.array("scans")) scans.push_back(scan_from_json(scan));
  if (scans.size() != plan.streams.size())
    fields.refuse("scans", fmt::format("{} scans", plan.streams.size()),
                  fmt::to_string(scans.size()));
  for (size_t i = 0; i < scans.size(); ++i) {
    const ShardRows& shard = plan.streams[i].shards[static_cast<size_t>(index)];
    const std::string expected = fmt::format("{} rows, {}", shard.rows.size(), shard.blocks);
    const std::string found =
        fmt::format("{} rows, {}", scans[i].rows, hash_of_blocks(scans[i], shard.rows));
    if (found != expected) fields.refuse("scans", expected, found);
  }
  return scans;
}

}  // namespace

std::string ShardFiles::plan() const { return join_path(cache_dir_, "shards.json"); }
std::string ShardFiles::shard(int64_t index) const {
  return join_path(cache_dir_, fmt::format("shards/{:05}", index));
}
std::string ShardFiles::scan(int64_t index) const { return join_path(shard(index), "scan.json"); }
std::string ShardFiles::part(int64_t index) const { return join_path(shard(index), "part.json"); }

StreamIdentity ShardPlan::identity(size_t stream, int64_t shard) const {
  const ShardRows& rows = streams[stream].shards[static_cast<size_t>(shard)];
  StreamIdentity identity = streams[stream].identity;
  identity.fingerprint = with_rows(identity.fingerprint, rows.blocks);
  identity.first_row = rows.rows.begin;
  identity.rows = rows.rows.size();
  identity.inputs = inputs_of(identity.inputs, rows.rows);
  return identity;
}

InputScan scan_of_rows(const InputScan& scan, RowRange rows) {
  const auto [begin, end] = blocks_of(scan, rows);
  const auto share = [&](int64_t count) {  // of a count of the whole input
    return static_cast<int64_t>(static_cast<double>(count) * static_cast<double>(rows.size()) /
                                static_cast<double>(std::max<int64_t>(1, scan.rows)));
  };
  // The plan has reported the rejected and the empty rows of the whole input.
  InputScan part = {.rows_in = rows.size(),
                    .rows = rows.size(),
                    .tokenized = share(scan.tokenized),
                    .text_bytes = share(scan.text_bytes),
                    .longest_bytes = scan.longest_bytes};
  part.checkpoints.assign(scan.checkpoints.begin() + static_cast<std::ptrdiff_t>(begin),
                          scan.checkpoints.begin() + static_cast<std::ptrdiff_t>(end));
  const bool is_last = end == scan.checkpoints.size();
  part.end_row = is_last ? scan.end_row : scan.checkpoints[end].row;
  if (begin == end) {
    part.end_row = rows.begin;
    part.files.push_back(scan.files.front());
    return part;
  }
  const int64_t first_file = part.checkpoints.front().file;
  const int64_t last_file =
      is_last ? std::ssize(scan.files) - 1 : scan.checkpoints[end].file;  // a block may end there
  for (int64_t file = first_file; file <= last_file; ++file)
    part.files.push_back(scan.files[static_cast<size_t>(file)]);
  for (InputScan::Checkpoint& block : part.checkpoints) block.file -= first_file;
  return part;
}

ShardPlan divide(const std::vector<StreamPlan>& streams, int64_t shards) {
  // Streams of one split with equal numbers of rows belong together, row by row.
  const auto key = [](const StreamPlan& stream) {
    return std::pair(stream.config.split, stream.scan.rows);
  };
  std::map<std::pair<std::string, int64_t>, Cuts> cuts;
  for (const StreamPlan& stream : streams) {
    Cuts own = cuts_of(stream);
    const auto place = cuts.find(key(stream));
    if (place == cuts.end()) {
      cuts.emplace(key(stream), std::move(own));
    } else {
      place->second = common(std::move(place->second), own);
    }
  }
  ShardPlan plan{.shards = shards};
  for (const StreamPlan& stream : streams) {
    require_cuts(stream, shards, cuts.at(key(stream)));
    const std::vector<int64_t> rows = borders(stream.scan.rows, shards, cuts.at(key(stream)));
    ShardedStream sharded = {.identity = stream.identity, .scan = stream.scan};
    sharded.scan.checkpoints.clear();
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      const RowRange range = {.begin = rows[i], .end = rows[i + 1]};
      sharded.shards.push_back({.rows = range, .blocks = hash_of_blocks(stream.scan, range)});
    }
    plan.streams.push_back(std::move(sharded));
  }
  return plan;
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
  for (int64_t shard = 0; shard < plan.shards; ++shard) {
    Json scans = Json::array();
    for (size_t i = 0; i < streams.size(); ++i) {
      const RowRange rows = plan.streams[i].shards[static_cast<size_t>(shard)].rows;
      scans.push_back(to_json(scan_of_rows(streams[i].scan, rows)));
    }
    create_directories_durably(files.shard(shard));
    write_file_durably(files.scan(shard), file_text({{"format", kFormat}, {"scans", scans}}));
  }
  const Json described =
      array_of(plan.streams, [](const ShardedStream& stream) { return to_json(stream); });
  write_file_durably(files.plan(), file_text({{"format", kFormat},
                                              {"shards", plan.shards},
                                              {"settings", plan.settings},
                                              {"streams", described}}));
}

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

Shard read_shard(const std::string& cache_dir, int64_t index) {
  Shard shard{.index = index, .plan = read_shard_plan(cache_dir)};
  const ShardFiles files(cache_dir);
  if (index < 0 || index >= shard.plan.shards) {
    throw Error({.code = "shards.number",
                 .what = "the plan has no shard of this number",
                 .where = files.plan(),
                 .expected = fmt::format("0 to {}", shard.plan.shards - 1),
                 .found = fmt::to_string(index),
                 .hint = "number the shards from 0"});
  }
  shard.scans = read_sealed(files.scan(index), [&](const JsonFields& fields) {
                  return scans_of_shard(fields, shard.plan, index);
                }).first;
  return shard;
}

}  // namespace encode
