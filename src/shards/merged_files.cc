#include "shards/merged_files.h"

#include <algorithm>
#include <map>

#include "encode/error.h"
#include "encode/store.h"

#include "base/hash.h"
#include "shards/part.h"
#include "store/parts_list.h"

namespace encode {
namespace {

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

// Compares what a merge has published with the records of the parts.
class MergedFiles {
 public:
  MergedFiles(const std::string& cache_dir, const ShardPlan& plan)
      : cache_dir_(cache_dir), plan_(plan) {
    const ShardFiles files(cache_dir);
    for (int64_t shard = 0; shard < plan.shards; ++shard)
      hashes_.push_back(published_hashes(files, plan, shard));
  }

  // Both return nothing if there is no merge of the present parts, and throw Error if something
  // cannot be read.
  std::vector<std::string> lists() const;
  std::vector<std::string> joined() const;

 private:
  bool have_part(const std::vector<ListedParts>& lists, int64_t shard) const;
  std::string made_from(const std::string& stream) const;
  std::vector<std::string> combined() const;
  // Only an experiment of one stream has an output.
  std::string matrix_path(const std::string& name) const {
    const auto output = plan_.settings.find("output");
    const bool elsewhere = output != plan_.settings.end() && !output->second.empty();
    return elsewhere ? output->second : final_path(cache_dir_, name);
  }

  const std::string& cache_dir_;
  const ShardPlan& plan_;
  std::vector<std::map<std::string, std::string>> hashes_;  // by shard and name of the matrix
};

// Returns true if the lists of the streams have the part that the shard has now.
bool MergedFiles::have_part(const std::vector<ListedParts>& lists, int64_t shard) const {
  const auto& hashes = hashes_[static_cast<size_t>(shard)];
  for (size_t stream = 0; stream < lists.size(); ++stream) {
    const RowRange rows = plan_.streams[stream].shards[static_cast<size_t>(shard)].rows;
    if (rows.size() == 0) continue;
    const auto made = hashes.find(plan_.streams[stream].identity.name);
    const auto listed = lists[stream].find(rows.begin);
    if (made == hashes.end() || listed == lists[stream].end() || listed->second != made->second)
      return false;
  }
  return true;
}

// Returns the names of the matrices that are no streams.
std::vector<std::string> MergedFiles::combined() const {
  std::vector<std::string> names;
  if (hashes_.empty()) return names;
  for (const auto& [name, hash] : hashes_.back()) {
    const bool is_stream = std::ranges::any_of(
        plan_.streams, [&](const ShardedStream& stream) { return stream.identity.name == name; });
    if (!is_stream) names.push_back(name);
  }
  return names;
}

std::vector<std::string> MergedFiles::lists() const {
  std::vector<std::string> paths;
  std::vector<ListedParts> lists;
  for (const ShardedStream& stream : plan_.streams) {
    paths.push_back(parts_list_path(matrix_path(stream.identity.name)));
    lists.push_back(parts_in(paths.back(), stream.identity.fingerprint));
  }
  for (int64_t shard = 0; shard < plan_.shards; ++shard) {
    if (!have_part(lists, shard)) return {};
  }
  // A merge publishes the combined matrices last.
  for (const std::string& name : combined()) {
    paths.push_back(parts_list_path(matrix_path(name)));
    read_parts_list(paths.back());
  }
  return paths;
}

std::string MergedFiles::made_from(const std::string& stream) const {
  std::vector<std::string> of_stream;
  for (const auto& hashes : hashes_) {
    const auto made = hashes.find(stream);
    if (made == hashes.end()) return "";
    of_stream.push_back(made->second);
  }
  return hash_of_parts(of_stream);
}

std::vector<std::string> MergedFiles::joined() const {
  std::vector<std::string> paths;
  for (const ShardedStream& stream : plan_.streams) {
    const std::string& name = stream.identity.name;
    paths.push_back(matrix_path(name));
    const std::optional<Manifest> manifest = read_manifest(paths.back());
    if (!manifest || manifest->identity.fingerprint != stream.identity.fingerprint ||
        manifest->made_from.empty() || manifest->made_from != made_from(name))
      return {};
  }
  for (const std::string& name : combined()) {
    paths.push_back(matrix_path(name));
    if (!read_manifest(paths.back())) return {};
  }
  return paths;
}

// Calls `look`, and returns nothing if what it looks for is missing, damaged or of another version.
// An error of the file system is thrown.
template <typename Look>
std::vector<std::string> found_by(const Look& look) {
  try {
    return look();
  } catch (const Error& error) {
    const ExitCode code = error.exit_code();
    if (code == ExitCode::kIoError || code == ExitCode::kNoPermission) throw;
    return {};
  }
}

}  // namespace

std::string hash_of_parts(const std::vector<std::string>& part_hashes) {
  Xxh3 hash;
  for (const std::string& part : part_hashes) hash.update(part.data(), part.size());
  return hash.hex();
}

std::vector<std::string> merged_files(const std::string& cache_dir, const ShardPlan& plan) {
  return found_by([&] {
    const MergedFiles files(cache_dir, plan);
    std::vector<std::string> lists = found_by([&] { return files.lists(); });
    return lists.empty() ? files.joined() : lists;
  });
}

}  // namespace encode
