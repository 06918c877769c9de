// The table of keys. To add a key, add an entry to one of its parts. A test then fails, and its
// message says how to update docs/config.md and configs/schema.json.
#include "config/key_tables.h"

namespace encode {

std::vector<KeySpec> joined(const std::vector<std::vector<KeySpec>>& parts) {
  std::vector<KeySpec> all;
  for (const std::vector<KeySpec>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::vector<KeySpec>& config_keys() {
  static const std::vector<KeySpec> keys =
      joined({vector_keys(), run_keys(), passage_keys(), cache_keys(), hardware_keys(),
              input_keys(), stream_override_keys(), passage_override_keys(), output_keys()});
  return keys;
}

}  // namespace encode
