#include "encode/tokenizer_file.h"

#include <string>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/lfs_pointer.h"
#include "base/model_files.h"

namespace encode {
namespace {

constexpr JsonLimits kConfigLimits{.max_bytes = 1 << 20, .max_depth = 32};

}  // namespace

const std::string* TokenizerSource::find(const std::string& name) const {
  const auto found = files.find(name);
  return found == files.end() ? nullptr : &found->second;
}

TokenizerSource make_tokenizer_source(
    const std::string& folder,
    const std::function<std::optional<std::string>(const std::string& name)>& read) {
  TokenizerSource source;
  source.folder = folder;
  const auto add = [&](const char* name) {
    std::optional<std::string> content = read(name);
    if (!content) return;
    refuse_lfs_pointer(*content, source.path_of(name));
    source.files.emplace(name, std::move(*content));
  };
  for (const char* name : kTokenizerFiles) add(name);
  for (const char* name : kFilesBesideTokenizer) add(name);
  if (const std::optional<std::string> text = read(kConfigFile)) {
    const std::string where = source.path_of(kConfigFile);
    const Json json = parse_json(*text, kConfigLimits, where, "tokenizer.format");
    const JsonFields fields(json, where, "tokenizer.format");
    source.model_type = fields.string_or("model_type", "");
    source.tokenizer_class = fields.string_or("tokenizer_class", "");
  }
  return source;
}

void refuse_lfs_pointer(const std::string& content, const std::string& where) {
  if (!is_lfs_pointer(content)) return;
  throw Error({.code = "tokenizer.format",
               .what = "a file of the tokenizer is a Git LFS pointer",
               .where = where,
               .expected = "the file itself",
               .found = std::string(kLfsFound),
               .hint = std::string(kLfsHint)});
}

std::string tokenizer_file_of(const TokenizerSource& source) {
  for (const char* name : kTokenizerFiles) {
    if (source.files.contains(name)) return name;
  }
  return "";
}

bool is_sentencepiece_file(const std::string& file) { return file.ends_with(".model"); }

std::string sentencepiece_version() { return ENCODE_SENTENCEPIECE_VERSION; }

}  // namespace encode
