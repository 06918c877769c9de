#include "shards/merged_lists.h"

#include <algorithm>
#include <map>

#include "encode/error.h"
#include "encode/store.h"

#include "shards/part.h"
#include "store/parts_list.h"

namespace encode {
namespace {

// Returns where a merge has the list of a matrix. Only an experiment of one stream has an output.
std::string list_of(const std::string& cache_dir, const ShardPlan& plan, const std::string& name) {
  const auto output = plan.settings.find("output");
  const bool elsewhere = output != plan.settings.end() && !output->second.empty();
  return parts_list_path(elsewhere ? output->second : final_path(cache_dir, name));
}

// The hash of each part by its first row. The hash is that of the matrix that the shard has made.
using ListedParts = std::map<int64_t, std::string>;

// Throws Error if there is no list that can be used.
ListedParts parts_in(const std::string& list_path, const std::string& fingerprint) {
  const PartsList list = read_parts_list(list_path);
  ListedParts parts;
  if (list.identity.fingerprint != fingerprint) return parts;
  for (const PartsList::Entry& part : list.parts)
    parts[part.rows.begin] = part.made_from.empty() ? part.seal.xxh3_128 : part.made_from;
  return parts;
}

// Returns true if the lists of the streams have the part that the shard has now.
bool have_part(const std::vector<ListedParts>& lists, const ShardPlan& plan, int64_t shard,
               const std::map<std::string, std::string>& hashes) {
  for (size_t stream = 0; stream < lists.size(); ++stream) {
    const RowRange rows = plan.streams[stream].shards[static_cast<size_t>(shard)].rows;
    if (rows.size() == 0) continue;
    const auto made = hashes.find(plan.streams[stream].identity.name);
    const auto listed = lists[stream].find(rows.begin);
    if (made == hashes.end() || listed == lists[stream].end() || listed->second != made->second)
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> merged_lists(const std::string& cache_dir, const ShardPlan& plan) {
  const ShardFiles files(cache_dir);
  try {
    std::vector<std::string> paths;
    std::vector<ListedParts> lists;
    for (const ShardedStream& stream : plan.streams) {
      paths.push_back(list_of(cache_dir, plan, stream.identity.name));
      lists.push_back(parts_in(paths.back(), stream.identity.fingerprint));
    }
    std::map<std::string, std::string> hashes;
    for (int64_t shard = 0; shard < plan.shards; ++shard) {
      hashes = published_hashes(files, plan, shard);
      if (!have_part(lists, plan, shard, hashes)) return {};
    }
    // A merge publishes the combined matrices last.
    for (const auto& [name, hash] : hashes) {
      const std::string list = list_of(cache_dir, plan, name);
      if (std::ranges::find(paths, list) != paths.end()) continue;
      read_parts_list(list);
      paths.push_back(list);
    }
    return paths;
  } catch (const Error& error) {
    const ExitCode code = error.exit_code();
    if (code == ExitCode::kIoError || code == ExitCode::kNoPermission) throw;
    return {};
  }
}

}  // namespace encode
