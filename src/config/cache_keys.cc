// The keys of the embedding cache.
#include <array>
#include <fmt/format.h>
#include <string>

#include "encode/cache_limits.h"
#include "encode/error.h"

#include "base/units.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

ValueSpec size_value() {
  return {.type = ValueType::kText,
          .min = 1,
          .max = 32,
          .pattern = "^[0-9]{1,6}(\\.[0-9]{1,3})? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$",
          .pattern_words = kSizeSyntax};
}

// Spells a number of bytes in the largest unit that leaves no fraction: "256 MB".
std::string whole_size(int64_t bytes) {
  static constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  constexpr int64_t kStep = 1000;
  size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes > 0 && bytes % kStep == 0; ++unit) bytes /= kStep;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

int64_t size_of(const Value& value, int64_t least, const std::string& key) {
  const int64_t bytes = parse_bytes(text(value)).value_or(-1);
  if (bytes >= least) return bytes;
  throw Error({.code = "config.value",
               .what = key + " is out of range",
               .where = key,
               .expected = fmt::format("at least {}, below 2^60 bytes", format_bytes(least)),
               .found = text(value),
               .hint = "give another size"});
}

}  // namespace

std::vector<KeySpec> cache_keys() {
  const std::vector<std::string> section = {"semantic.embedding_cache"};
  return {
      {.sections = section,
       .name = "dir",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 130,
                  .name = "--embedding-cache",
                  .placeholder = "DIR",
                  .help = "Directory of a cache of embeddings, which later runs share: a text that "
                          "is in it is not encoded again"}},
       .help = "The directory of the embedding cache, on a local disk. Runs on one machine share "
               "it. A row that was encoded before, with the same model and options and on the same "
               "kind of device, gets its vector from there, with the same bits; null: there is no "
               "embedding cache.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.embedding_cache.dir = optional<std::string>(v).value_or("");
           }},
      {.sections = section,
       .name = "memory",
       .value = size_value(),
       .default_text = whole_size(EmbeddingCacheOptions().memory_bytes),
       .no_flag = "it belongs to a machine, not to a run",
       .help = "Host memory for the rows of the embedding cache that are used most.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.embedding_cache.memory_bytes = size_of(v, 0, "semantic.embedding_cache.memory");
           }},
      {.sections = section,
       .name = "disk",
       .value = size_value(),
       .default_text = whole_size(EmbeddingCacheOptions().disk_bytes),
       .no_flag = "it belongs to a machine, not to a run",
       .help =
           "The most that the embedding cache takes on disk, at least 16 MB. Rows that were not "
           "used for the longest time make room for new ones.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.embedding_cache.disk_bytes =
                 size_of(v, kLeastDiskBytes, "semantic.embedding_cache.disk");
           }},
  };
}

}  // namespace encode
