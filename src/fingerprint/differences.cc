#include <map>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "fingerprint/fingerprint.h"

namespace encode {
namespace {

constexpr size_t kMaxLines = 20;
constexpr size_t kMaxValueBytes = 72;

using Fields = std::map<std::string, std::string>;  // dotted path -> value as JSON

void flatten(const Json& value, const std::string& path, Fields& fields) {
  const auto below = [&path](const std::string& key) {
    return path.empty() ? key : path + "." + key;
  };
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) flatten(member, below(key), fields);
  } else if (value.is_array() && !value.empty()) {
    for (size_t i = 0; i < value.size(); ++i) flatten(value[i], below(std::to_string(i)), fields);
  } else {
    fields[path] =
        preview(value.dump(-1, ' ', false, Json::error_handler_t::replace), kMaxValueBytes);
  }
}

Fields fields_of(const StreamIdentity& identity) {
  Fields fields = {{"rows", std::to_string(identity.rows)}, {"dim", std::to_string(identity.dim)}};
  flatten(Json::parse(identity.fingerprint, nullptr, /*allow_exceptions=*/false), "", fields);
  return fields;
}

}  // namespace

std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run) {
  const int64_t cached_version = version_of(cache.fingerprint);
  const int64_t run_version = version_of(run.fingerprint);
  if (cached_version != run_version) {
    return "another version of encode wrote it: fingerprints of version " +
           std::to_string(cached_version) + ", this one writes " + std::to_string(run_version) +
           ", and the same rows may have other bits";
  }
  const Fields cached = fields_of(cache);
  const Fields current = fields_of(run);
  std::set<std::string> paths;
  for (const Fields& fields : {cached, current}) {
    for (const auto& [path, value] : fields) paths.insert(path);
  }
  const auto value_of = [](const Fields& fields, const std::string& path) {
    const auto found = fields.find(path);
    return found == fields.end() ? "nothing" : found->second;
  };
  std::string text;
  size_t lines = 0;
  for (const std::string& path : paths) {
    const std::string a = value_of(cached, path);
    const std::string b = value_of(current, path);
    if (a == b || ++lines > kMaxLines) continue;
    if (!text.empty()) text += '\n';
    text.append(path).append(": cache has ").append(a).append(", this run has ").append(b);
  }
  if (lines > kMaxLines) text += "\nand " + std::to_string(lines - kMaxLines) + " more";
  return text;
}

}  // namespace encode
