// The division of an experiment into shards: ranges of rows that machines encode without knowing of
// each other. `encode shards plan` scans the inputs once and writes the plan; a run of a shard
// reads its own part of it and scans nothing. docs/scale.md describes the files. Any thread may
// call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/config.h"
#include "encode/store.h"
#include "encode/text.h"

#include "run_plan/plan.h"

namespace encode {

inline constexpr int64_t kMostShards = 100'000;

// The paths of the files of a plan, below the cache directory of the experiment.
class ShardFiles {
 public:
  explicit ShardFiles(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {}

  std::string plan() const;                      // <cache>/shards.json
  std::string shard(int64_t index) const;        // <cache>/shards/00007
  std::string scan(int64_t index) const;         // its scan.json: what a run of it reads
  std::string part(int64_t index) const;         // its part.json: the shard is encoded
  std::string server_lost(int64_t index) const;  // its server_lost.json, see shards/server_lost.h

 private:
  std::string cache_dir_;
};

// A range of rows of a stream, and the hash of the blocks that have them. Equal hashes mean equal
// texts in equal rows.
struct ShardRows {
  RowRange rows;
  std::string blocks;
  // The hash of FieldBlocks; "" if no column comes from the input. It does not belong to the
  // identity of the shard, because columns change no vector.
  std::string columns = {};

  bool same_rows(const ShardRows& other) const {
    return rows == other.rows && blocks == other.blocks;
  }
};

struct ShardedStream {
  StreamIdentity identity = {};        // of the whole stream
  InputScan scan = {};                 // of the whole stream, without checkpoints
  std::vector<ShardRows> shards = {};  // they tile the rows of the stream
  // The rows of a chunk if the config of a run gives no number. 0: the plan does not say, because
  // its config gives a number, or because an earlier version has made it.
  int64_t chunk_rows = 0;
};

struct ShardPlan {
  int64_t shards = 0;                                // 1 to kMostShards
  std::vector<ShardedStream> streams = {};           // in the order of the config
  std::map<std::string, std::string> settings = {};  // see settings_of_shards()
  std::string checksum = {};                         // of the file

  // Returns the identity of a shard's rows as a stream of its own. It has no other input than these
  // rows: a shard keeps its identity if other rows change.
  StreamIdentity identity(size_t stream, int64_t shard) const;
};

// One shard, as a run needs it.
struct Shard {
  int64_t index = 0;
  ShardPlan plan = {};
  // By stream of the plan: the files and the blocks that have the rows of the shard. The first and
  // the last block may have rows of its neighbours.
  std::vector<InputScan> scans = {};
  std::vector<FieldBlocks> field_blocks = {};  // of the blocks of these scans
};

// Divides the streams of a run, whose scans must have checkpoints. Streams of one split with equal
// numbers of rows are divided alike. Throws Error kConfig "shards.config" if a compressed file
// would have to be cut.
ShardPlan divide(const std::vector<StreamPlan>& streams, int64_t shards);

// Divides the streams of a run with the same streams as an earlier plan, to whose inputs rows were
// added or in whose inputs rows have changed. The earlier shards keep their numbers and, as far as
// there are so many rows, their rows. Rows after them go to new shards of about the same size. Has
// the requirements and the errors of divide().
ShardPlan extend(const ShardPlan& earlier, const std::vector<StreamPlan>& streams);

// Throws Error kConfig "shards.foreign" that names a setting if the config does not have the
// settings of the plan, and what settings_of_shards() throws.
void require_plan_of(const RunConfig& config, const ShardPlan& plan);

// Returns the part of a scan that has these rows. The scan has at least one file, as scan_texts()
// makes it.
InputScan scan_of_rows(const InputScan& scan, RowRange rows);

// Returns ShardPlan::checksum as the file of the plan will have it.
std::string checksum_of(const ShardPlan& plan);

// Writes the files of the plan, shards.json last. `streams` are those that divide() got. Throws
// what write_file_durably() throws.
void write_shard_plan(const std::string& cache_dir, const ShardPlan& plan,
                      const std::vector<StreamPlan>& streams);

// Both functions throw Error: kNoInput "shards.missing" if there is no plan, kData "store.damaged"
// if it is damaged, and what read_file() throws. read_shard() also throws kUsage "shards.number" if
// the plan has no shard of this number, or another number of shards than `shards`.
ShardPlan read_shard_plan(const std::string& cache_dir);
Shard read_shard(const std::string& cache_dir, int64_t index,
                 std::optional<int64_t> shards = std::nullopt);

}  // namespace encode
