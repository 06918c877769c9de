#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

constexpr size_t kMaxLines = 8;
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
  if (identity.first_row > 0) fields["first_row"] = fmt::to_string(identity.first_row);
  flatten(Json::parse(identity.fingerprint, nullptr, /*allow_exceptions=*/false), "", fields);
  return fields;
}

// Returns the path of the file if `path` leads to the hash of a file, because a message shows the
// file and not the hash. Returns "" for another path.
std::string owner_of_hash(const std::string& path) {
  for (const std::string_view name : {".sha256", ".xxh3_128"}) {
    if (path.ends_with(name)) return path.substr(0, path.size() - name.size());
  }
  return "";
}

// Returns the place of a difference in the order in which people look at them; 0 is first. A
// difference of the model comes first, because it changes other values. A value that follows from
// other values comes last.
int rank_of(const std::string& path) {
  const auto is = [&path](std::string_view other) { return path == other; };
  if (path.starts_with("model")) return 0;
  const bool content = !owner_of_hash(path).empty() || path.ends_with(".file_bytes");
  if (path.starts_with("input.")) return content ? 1 : 2;
  const bool derived = is("rows") || is("dim") || is("result.dim") || is("result.launch_tokens") ||
                       path.starts_with("result.modules") || !path.starts_with("result.");
  return derived ? 4 : 3;
}

// Returns the name of a setting as a user knows it: "max_length" for "result.max_length".
std::string setting_of(const std::string& path) {
  for (const std::string_view group : {"result.", "input."}) {
    if (path.starts_with(group)) return path.substr(group.size());
  }
  return path;
}

std::string before_and_now(const std::string& before, const std::string& now) {
  if (before.empty() || now.empty() || before == now) return "";
  return fmt::format(": {} before, {} now", preview(before, 200), preview(now, 200));
}

constexpr const char* kNothing = "nothing";

// A value that differs between two fingerprints.
struct Difference {
  std::string path;
  std::string cached;
  std::string current;
};

// Returns the value, and its meaning in words if it stands for a rule: "0 (all rows)".
std::string in_words(const std::string& path, const std::string& value) {
  if (path == "input.limit_rows" && value == "0") return "0 (all rows)";
  if (path == "result.truncate_dim" && value == "null") return "null (all columns)";
  if (path == "result.causal" && value == "null") return "null (as the model says)";
  return value;
}

// Describes a file that only one of the two fingerprints has.
std::string describe_lone_file(const std::string& file, bool in_cache) {
  // The hash of the only file of an input is at another place than the hashes of several files.
  if (file == "input")
    return in_cache ? "input: one file before, several now"
                    : "input: several files before, one now";
  return fmt::format("{}: only {} has this file", file, in_cache ? "the cache" : "this run");
}

std::string describe_difference(const Difference& difference) {
  const auto& [path, cached, current] = difference;
  const std::string file = owner_of_hash(path);
  if (file.empty()) return fmt::format("{}: cache has {}, this run has {}", path, cached, current);
  if (cached == kNothing || current == kNothing)
    return describe_lone_file(file, /*in_cache=*/current == kNothing);
  return file + ": other content than before (the checksum differs)";
}

// Removes the sizes of the files that only one of the two fingerprints has. Their hashes remain, so
// each of these files is still reported once.
void leave_out_sizes_of_lone_files(std::vector<Difference>& differences) {
  std::set<std::string> sizes;
  for (const auto& [path, cached, current] : differences) {
    const std::string file = owner_of_hash(path);
    if (file.empty() || (cached != kNothing && current != kNothing)) continue;
    sizes.insert(file + ".bytes");
    sizes.insert(file + ".file_bytes");
  }
  std::erase_if(differences, [&](const Difference& one) { return sizes.contains(one.path); });
}

// Returns the values that differ, in the order of their paths.
std::vector<Difference> differences_of(const StreamIdentity& cache, const StreamIdentity& run) {
  const Fields cached = fields_of(cache);
  const Fields current = fields_of(run);
  std::set<std::string> paths;
  for (const Fields& fields : {cached, current}) {
    for (const auto& [path, value] : fields) paths.insert(path);
  }
  const auto value_of = [](const Fields& fields, const std::string& path) {
    const auto found = fields.find(path);
    return found == fields.end() ? kNothing : in_words(path, found->second);
  };
  std::vector<Difference> differences;
  for (const std::string& path : paths) {
    Difference one = {path, value_of(cached, path), value_of(current, path)};
    if (one.cached != one.current) differences.push_back(std::move(one));
  }
  leave_out_sizes_of_lone_files(differences);
  return differences;
}

}  // namespace

std::string first_difference(const StreamIdentity& cache, const StreamIdentity& run,
                             const SourceNames& before, const SourceNames& now) {
  if (version_of(cache.fingerprint) != version_of(run.fingerprint))
    return "another version of encode";
  const std::vector<Difference> differences = differences_of(cache, run);
  const auto first = std::min_element(
      differences.begin(), differences.end(),
      [](const auto& a, const auto& b) { return rank_of(a.path) < rank_of(b.path); });
  if (first == differences.end()) return "nothing differs";
  const int rank = rank_of(first->path);
  if (rank == 0) return "another model" + before_and_now(before.model, now.model);
  if (rank == 1) return "another input" + before_and_now(before.input, now.input);
  return fmt::format("another {}{}", setting_of(first->path),
                     before_and_now(first->cached, first->current));
}

std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run) {
  const int64_t cached_version = version_of(cache.fingerprint);
  const int64_t run_version = version_of(run.fingerprint);
  if (cached_version != run_version) {
    return fmt::format(
        "another version of encode wrote it: its fingerprint has version {}, and this encode "
        "writes version {}; the two may compute different bits for the same rows",
        cached_version, run_version);
  }
  std::string text;
  size_t lines = 0;
  for (const Difference& difference : differences_of(cache, run)) {
    if (++lines > kMaxLines) continue;
    text += (text.empty() ? "" : "\n") + describe_difference(difference);
  }
  if (lines > kMaxLines) text += fmt::format("\nand {} more", lines - kMaxLines);
  return text;
}

}  // namespace encode
