#include "tokenizer/load/slow_class_options.h"

#include <fmt/format.h>
#include <utility>

#include "base/units.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {

SlowClassOptions::SlowClassOptions(const Json& config, std::string where)
    : config_(config), where_(std::move(where)), fields_(config, where_, kTokenizerFormat) {}

bool SlowClassOptions::flag(const std::string& key, bool fallback) const {
  if (const auto found = config_.find(key); found != config_.end() && found->is_null())
    return false;
  return fields_.boolean_or(key, fallback);
}

bool SlowClassOptions::flag_or_null(const std::string& key, bool fallback) const {
  return fields_.boolean_or(key, fallback);
}

bool SlowClassOptions::is_null_or_absent(const std::string& key) const { return !fields_.has(key); }

std::string SlowClassOptions::text(const std::string& key, const std::string& fallback) const {
  return fields_.string_or(key, fallback);
}

int64_t SlowClassOptions::extra_ids() const {
  constexpr int64_t kMost = 10'000;
  return fields_.integer_or("extra_ids", 100, 0, kMost);
}

void SlowClassOptions::require(const std::string& key, const Json& value) const {
  if (!fields_.has(key) || config_.at(key) == value) return;
  refuse_unsupported(
      fmt::format("the value of '{}' is not supported without a tokenizer.json", key), where_,
      {.expected = value.is_null() ? "no such key" : value.dump(),
       .found = preview(config_.at(key).dump()),
       .hint = "load the tokenizer with transformers' AutoTokenizer and save it with "
               "save_pretrained(), which writes tokenizer.json"});
}

}  // namespace encode
