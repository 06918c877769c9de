#include "base/allocator_conf.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

// A key of LibTorch 2.11 (c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h).
struct Key {
  const char* name;
  const char* pattern;   // an ECMAScript regular expression
  const char* expected;  // the pattern in words, for messages
};

constexpr const char* kBoolean = "True|False";
constexpr const char* kMegabytes = "[0-9]{1,9}";
constexpr const char* kFraction = "0?\\.[0-9]+|0|0\\.|1|1\\.0*";

constexpr std::array<Key, 14> kKeys = {
    {{"backend", "native|cudaMallocAsync", "native or cudaMallocAsync"},
     {"expandable_segments", kBoolean, "True or False"},
     {"garbage_collection_threshold", kFraction, "a number between 0 and 1"},
     {"graph_capture_record_stream_reuse", kBoolean, "True or False"},
     {"large_segment_size_mb", kMegabytes, "a number of megabytes"},
     {"max_non_split_rounding_mb", kMegabytes, "a number of megabytes"},
     {"max_split_size_mb", kMegabytes, "a number of megabytes"},
     {"per_process_memory_fraction", kFraction, "a number between 0 and 1"},
     {"pinned_num_register_threads", "[0-9]{1,3}", "a number of threads, at most 128"},
     {"pinned_reserve_segment_size_mb", kMegabytes, "a number of megabytes"},
     {"pinned_use_background_threads", kBoolean, "True or False"},
     {"pinned_use_cuda_host_register", kBoolean, "True or False"},
     {"release_lock_on_cudamalloc", kBoolean, "True or False"},
     {"roundup_power2_divisions",
      "[0-9]{1,3}|\\[([0-9]{1,9}|>):[0-9]{1,3}(,([0-9]{1,9}|>):[0-9]{1,3})*\\]",
      "a power of 2, or a list such as [256:1,512:2,>:8]"}}};

struct Setting {
  std::string key;
  std::string value;
};

Error refusal(const AllocatorConf& source, std::string what, std::string expected,
              std::string found) {
  return Error({.code = "config.allocator",
                .what = std::move(what),
                .where = source.where,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "PyTorch's notes on CUDA semantics describe PYTORCH_ALLOC_CONF"});
}

void check(const Setting& setting, const AllocatorConf& source) {
  const auto* const key = std::find_if(kKeys.begin(), kKeys.end(),
                                       [&](const Key& known) { return setting.key == known.name; });
  if (key == kKeys.end()) {
    std::vector<std::string> names;
    for (const Key& known : kKeys) names.emplace_back(known.name);
    const std::string near = nearest(setting.key, names.data(), names.size());
    throw refusal(source, "unknown setting of the CUDA allocator",
                  near.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                               : fmt::format("'{}'?", near),
                  fmt::format("'{}'", preview(setting.key)));
  }
  // std::regex recurses once for each character, so a long value must not reach it.
  constexpr size_t kMaxValueBytes = 500;
  if (setting.value.size() <= kMaxValueBytes &&
      std::regex_match(setting.value, std::regex(key->pattern)))
    return;
  throw refusal(source, fmt::format("{} has a value that is not valid", setting.key), key->expected,
                fmt::format("'{}'", preview(setting.value)));
}

// Splits a text at the commas outside of brackets, and checks each setting.
std::vector<Setting> parse(const AllocatorConf& source) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : source.text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    depth += (c == '[' ? 1 : 0) - (c == ']' ? 1 : 0);
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  std::vector<Setting> settings;
  for (const std::string& item : items) {
    if (item.empty()) continue;
    const size_t colon = item.find(':');
    if (colon == std::string::npos) {
      throw refusal(source, "a setting of the CUDA allocator has no value", "key:value",
                    fmt::format("'{}'", preview(item)));
    }
    settings.push_back({.key = item.substr(0, colon), .value = item.substr(colon + 1)});
    check(settings.back(), source);
  }
  return settings;
}

}  // namespace

std::string merge_allocator_conf(const std::vector<AllocatorConf>& sources) {
  std::vector<Setting> merged;
  for (const AllocatorConf& source : sources) {
    const size_t before = merged.size();
    for (Setting& setting : parse(source)) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const Setting& other) {
        return other.key == setting.key;
      });
      if (same == merged.end()) {
        merged.push_back(std::move(setting));
      } else if (static_cast<size_t>(same - merged.begin()) >= before) {
        same->value = std::move(setting.value);
      }
    }
  }
  std::string text;
  for (const Setting& setting : merged)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", setting.key, setting.value);
  return text;
}

std::string allocator_settings(const HardwareOptions& options) {
  std::vector<AllocatorConf> sources = {
      {.where = "hardware.allocator.conf", .text = options.allocator_conf}};
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    if (const char* value = std::getenv(name)) sources.push_back({.where = name, .text = value});
  }
  sources.push_back({.where = "hardware.allocator.expandable_segments",
                     .text = options.expandable_segments ? "expandable_segments:True"
                                                         : "expandable_segments:False"});
  return merge_allocator_conf(sources);
}

HardwareOptions without_expandable_segments(HardwareOptions options) {
  options.expandable_segments = false;
  // The first source wins over the others, and in a source the last setting wins. So this is
  // appended to the first source.
  options.allocator_conf += ",expandable_segments:False";
  return options;
}

}  // namespace encode
