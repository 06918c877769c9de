#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/units.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

constexpr size_t kMaxLines = 20;
constexpr size_t kMaxValueBytes = 72;

using Fields = std::map<std::string, std::string>;  // dotted path -> value as JSON

void flatten(const Json& value, const std::string& path, Fields& fields) {
  const auto below = [&path](const std::string& key) {
    if (path == "model.files") return fmt::format("model file '{}'", preview(key));
    return path.empty() ? key : fmt::format("{}.{}", path, preview(key));
  };
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) flatten(member, below(key), fields);
  } else if (value.is_array() && !value.empty()) {
    for (size_t i = 0; i < value.size(); ++i) flatten(value[i], below(fmt::to_string(i)), fields);
  } else {
    fields[path] =
        preview(value.dump(-1, ' ', false, Json::error_handler_t::replace), kMaxValueBytes);
  }
}

Fields fields_of(const StreamIdentity& identity) {
  Fields fields = {{"rows", fmt::to_string(identity.rows)}, {"dim", fmt::to_string(identity.dim)}};
  flatten(Json::parse(identity.fingerprint, nullptr, /*allow_exceptions=*/false), "", fields);
  return fields;
}

// Returns the path of a file if `path` is that of its hash, which says nothing to people; else "".
std::string owner_of_hash(const std::string& path) {
  for (const std::string_view name : {".sha256", ".xxh3_128"}) {
    if (path.ends_with(name)) return path.substr(0, path.size() - name.size());
  }
  return "";
}

std::string describe_difference(const std::string& path, const std::string& cached,
                                const std::string& current) {
  const std::string file = owner_of_hash(path);
  if (!file.empty()) return file + ": other content than before (the checksum differs)";
  return fmt::format("{}: cache has {}, this run has {}", path, cached, current);
}

}  // namespace

std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run) {
  const int64_t cached_version = version_of(cache.fingerprint);
  const int64_t run_version = version_of(run.fingerprint);
  if (cached_version != run_version) {
    return fmt::format(
        "another version of encode wrote it: its fingerprint has version {}, and this encode "
        "writes version {}; the two may compute different bits for the same rows",
        cached_version, run_version);
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
    text += (text.empty() ? "" : "\n") + describe_difference(path, a, b);
  }
  if (lines > kMaxLines) text += fmt::format("\nand {} more", lines - kMaxLines);
  return text;
}

}  // namespace encode
