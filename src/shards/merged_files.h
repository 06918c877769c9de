// What `encode merge` has published, as `encode status` sees it: without a config. Any thread may
// call these functions.
#pragma once

#include <string>
#include <vector>

#include "run_plan/shard_plan.h"

namespace encode {

// Returns the hash in the manifest of one matrix of all shards (Manifest::made_from). `part_hashes`
// are the hashes of the matrices that the shards have made, in order.
std::string hash_of_parts(const std::vector<std::string>& part_hashes);

// Returns the paths of the lists, or of the joined matrices, if a merge has published the parts
// that the shards have now; else nothing. Compares what the lists, the manifests and the records of
// the parts say and looks at no row. Throws Error kNoPermission and kIoError.
std::vector<std::string> merged_files(const std::string& cache_dir, const ShardPlan& plan);

}  // namespace encode
