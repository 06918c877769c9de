// Divides the rows of an experiment into shards.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/units.h"
#include "run_plan/shard_blocks.h"
#include "run_plan/shard_plan.h"

namespace encode {
namespace {

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

// Streams of one split with equal numbers of rows belong together, row by row.
std::pair<std::string, int64_t> group_of(const StreamPlan& stream) {
  return {stream.config.split, stream.scan.rows};
}

// Returns where the streams of each group may be cut.
std::map<std::pair<std::string, int64_t>, Cuts> cuts_of(const std::vector<StreamPlan>& streams) {
  std::map<std::pair<std::string, int64_t>, Cuts> cuts;
  for (const StreamPlan& stream : streams) {
    Cuts own = cuts_of(stream);
    const auto place = cuts.find(group_of(stream));
    if (place == cuts.end()) {
      cuts.emplace(group_of(stream), std::move(own));
    } else {
      place->second = common(std::move(place->second), own);
    }
  }
  return cuts;
}

// `borders` has the first row of each shard, and then the number of rows of the stream.
ShardedStream sharded_at(const StreamPlan& stream, const std::vector<int64_t>& borders) {
  ShardedStream sharded = {.identity = stream.identity, .scan = stream.scan};
  sharded.scan.checkpoints.clear();
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    const RowRange range = {.begin = borders[i], .end = borders[i + 1]};
    sharded.shards.push_back({.rows = range,
                              .blocks = hash_of_blocks(stream.scan, range),
                              .columns = hash_of_columns(field_blocks_of(stream, range))});
  }
  return sharded;
}

// Returns the number of rows that the stream has more than in the earlier plan.
int64_t added_rows(const ShardedStream& earlier, const StreamPlan& stream) {
  return std::max<int64_t>(0, stream.scan.rows - earlier.identity.rows);
}

// Returns how many shards the added rows need, if these are as large as the earlier ones.
int64_t shards_for_added(const ShardPlan& earlier, const std::vector<StreamPlan>& streams) {
  int64_t most = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    const int64_t added = added_rows(earlier.streams[i], streams[i]);
    const int64_t usual = std::max<int64_t>(1, earlier.streams[i].identity.rows / earlier.shards);
    if (added > 0) most = std::max(most, (added - 1) / usual + 1);
  }
  return std::min(most, kMostShards - earlier.shards);
}

// Throws if a shard would begin within a compressed file.
void require_cut_at(const StreamPlan& stream, const Cuts& cuts, int64_t row) {
  const bool may_cut = cuts.anywhere || row == 0 || row == stream.scan.rows ||
                       std::ranges::binary_search(cuts.rows, row);
  if (may_cut) return;
  throw Error({.code = "shards.config",
               .what = "a compressed file has changed within a shard",
               .where = stream.input_name(),
               .expected = fmt::format("a file that begins with row {}, as in the plan", row),
               .found = "a file that has this row in its middle",
               .hint = "add rows as new files, or plan in another cache directory"});
}

// The earlier shards keep their rows as far as there are any. The added rows go to `more` shards.
std::vector<int64_t> extended_borders(const ShardedStream& earlier, const StreamPlan& stream,
                                      int64_t more, const Cuts& cuts) {
  const int64_t rows = stream.scan.rows;
  const int64_t end = std::min(earlier.identity.rows, rows);
  std::vector<int64_t> found;
  for (const ShardRows& shard : earlier.shards) found.push_back(std::min(shard.rows.begin, end));
  Cuts later = {.anywhere = cuts.anywhere, .rows = {}};
  for (const int64_t row : cuts.rows) {
    if (row > end) later.rows.push_back(row - end);
  }
  int64_t divided = more;  // into which the added rows are divided; the others have no rows
  if (!cuts.anywhere) divided = std::min(more, std::ssize(later.rows) + 1);
  if (divided > 0) {
    for (const int64_t border : borders(rows - end, divided, later)) found.push_back(end + border);
  } else {
    found.push_back(rows);
  }
  for (int64_t i = divided; i < more; ++i) found.push_back(rows);
  for (const int64_t border : found) require_cut_at(stream, cuts, border);
  return found;
}

}  // namespace

ShardPlan divide(const std::vector<StreamPlan>& streams, int64_t shards) {
  const auto cuts = cuts_of(streams);
  ShardPlan plan{.shards = shards};
  for (const StreamPlan& stream : streams) {
    const Cuts& own = cuts.at(group_of(stream));
    require_cuts(stream, shards, own);
    plan.streams.push_back(sharded_at(stream, borders(stream.scan.rows, shards, own)));
  }
  return plan;
}

ShardPlan extend(const ShardPlan& earlier, const std::vector<StreamPlan>& streams) {
  const auto cuts = cuts_of(streams);
  const int64_t more = shards_for_added(earlier, streams);
  ShardPlan plan{.shards = earlier.shards + more};
  for (size_t i = 0; i < streams.size(); ++i) {
    const Cuts& own = cuts.at(group_of(streams[i]));
    plan.streams.push_back(
        sharded_at(streams[i], extended_borders(earlier.streams[i], streams[i], more, own)));
  }
  return plan;
}

}  // namespace encode
