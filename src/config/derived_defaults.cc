#include "config/derived_defaults.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/output_format.h"
#include "base/own_cache.h"
#include "config/schema.h"

namespace encode {
namespace {

// Makes a part of a stream's name. If it replaces or cuts off characters, it appends a hash, so
// that different texts keep different names.
std::string name_part(const std::string& text, size_t most_bytes) {
  constexpr size_t kHashDigits = 8;
  std::string part;
  bool changed = text.size() > most_bytes;
  for (const char c : text.substr(changed ? text.size() - most_bytes : 0)) {
    const bool valid = is_name("x" + std::string(1, c));
    changed = changed || (!valid && c != '/');
    part += valid ? c : '_';
  }
  const size_t first = std::min(part.find_first_not_of("_.-"), part.size());
  changed = changed || part.find_first_not_of('_') < first;  // "../a" is not "a"
  part.erase(0, first);
  if (changed) part += "_" + sha256_hex(text).substr(0, kHashDigits);
  return part;
}

}  // namespace

std::string stream_name_of(const std::string& input, const std::string& field,
                           const std::string& model) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
  };
  std::string name = name_part(input == "-" ? "stdin" : plain(input), 50);
  for (const std::string& part : {name_part(field, 20), name_part(plain(model), 50)}) {
    if (!part.empty()) name += "_" + part;
  }
  name.erase(0, std::min(name.find_first_not_of("_.-"), name.size()));
  return name.empty() ? "embeddings" : name;
}

std::string default_stream_name(const std::string& output) {
  std::string name = std::filesystem::path(output).stem().string().substr(0, 100);
  for (char& c : name) {
    if (!is_name("x" + std::string(1, c))) c = '_';
  }
  const size_t first = name.find_first_not_of("_.-");
  return first == std::string::npos ? "embeddings" : name.substr(first);
}

std::string default_cache_dir(const std::string& output) {
  if (output.empty()) return "cache/embeddings";
  // A run that an earlier version has begun continues in its old directory.
  const std::string own = own_cache_dir(output);
  const std::string earlier = earlier_own_cache_dir(output);
  std::error_code ignored;
  const bool go_on =
      !std::filesystem::exists(own, ignored) && std::filesystem::exists(earlier + "/LOCK", ignored);
  return go_on ? earlier : own;
}

MatrixFormat default_matrix_format(const std::string& output) {
  return matrix_format_of(output).value_or(MatrixFormat::kNpy);
}

}  // namespace encode
