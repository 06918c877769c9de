// The lists that `encode merge` has written, as `encode status` sees them: without a config. Any
// thread may call it.
#pragma once

#include <string>
#include <vector>

#include "run_plan/shard_plan.h"

namespace encode {

// Returns the paths of the lists if a merge has published the parts that the shards have now; else
// nothing. Compares what the lists and the records of the parts say and looks at no matrix. Throws
// Error kNoPermission and kIoError.
std::vector<std::string> merged_lists(const std::string& cache_dir, const ShardPlan& plan);

}  // namespace encode
