#include "shards/shard_words.h"

#include <fmt/format.h>

#include "base/shell_quote.h"

namespace encode {

std::string ranges_of_shards(const std::vector<int64_t>& shards) {
  std::string text;
  for (size_t first = 0; first < shards.size();) {
    size_t last = first;
    while (last + 1 < shards.size() && shards[last + 1] == shards[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == first ? fmt::to_string(shards[first])
                          : fmt::format("{}-{}", shards[first], shards[last]);
    first = last + 1;
  }
  return text;
}

std::string shard_command(const std::string& config_path, int64_t shard, int64_t shards) {
  const std::string number = fmt::format("{}/{}", shard, shards);
  if (config_path.empty())
    return fmt::format("encode run --shard {}, with the flags of the plan", number);
  return shell_command({"encode", "run", "--config", config_path, "--shard", number});
}

std::string merge_command(const std::string& config_path) {
  if (config_path.empty()) return "encode merge, with the flags of the plan";
  return shell_command({"encode", "merge", "--config", config_path});
}

}  // namespace encode
