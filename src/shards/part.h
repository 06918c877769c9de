// The part of a shard: its finished matrices, and the record part.json that names the attempt which
// has made them. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/store.h"

#include "run_plan/shard_plan.h"

namespace encode {

// A matrix of an attempt.
struct PartMatrix {
  std::string name;    // of the stream, or of the combined matrix
  std::string path;    // where the attempt has it
  FileSeal seal = {};  // of the matrix
};

struct Part {
  std::string attempt;
  // The streams in the order of the plan, then the combined ones that the attempt makes.
  std::vector<PartMatrix> matrices = {};
};

// Publishes the record of a finished attempt; an earlier record is replaced. Throws Error kData
// "store.damaged" if a matrix of the attempt is not finished, and what write_file_durably() throws.
void publish_part(const RunConfig& config, const Shard& shard, const std::string& attempt);

// Returns the attempt that the record of a shard names; "" if the shard has no record of this plan.
// Looks at no matrix: find_part() does. Throws Error kConfig "shards.config" if a folder or another
// entry that is no file has the path of the record, kNoPermission and kIoError.
std::string published_attempt(const ShardFiles& files, const ShardPlan& plan, int64_t shard);

// Returns the hashes of the matrices that the record of a shard names, by name; empty if the shard
// has no record of this plan. Looks at no matrix and throws what published_attempt() throws.
std::map<std::string, std::string> published_hashes(const ShardFiles& files, const ShardPlan& plan,
                                                    int64_t shard);

// Returns the part of a shard; nullopt if the shard is not encoded yet, if its record is damaged or
// belongs to another plan, or if a matrix has another size than the record says. No hash is
// compared: `encode merge` and `encode verify` do that. Throws what published_attempt() and
// file_size() throw.
std::optional<Part> find_part(const RunConfig& config, const ShardPlan& plan, int64_t shard);

// Returns the name under which a merge publishes a part: "x-00007-of-00064.npy" for "x.npy".
std::string part_name(const std::string& matrix_path, int64_t shard, int64_t shards);

}  // namespace encode
