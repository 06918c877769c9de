#include "model_dir/weight_files.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/refusal.h"

namespace encode {
namespace {

constexpr const char* kEitherFile = "model.safetensors or model.safetensors.index.json";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Error bad_index(const ModelFolder& folder, std::string what, std::string expected,
                std::string found) {
  return refusal({.code = "model.index",
                  .what = std::move(what),
                  .where = folder.path_of(kWeightsIndexFile),
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = "download the index and all shards again"});
}

// Returns the weight_map of the index: the shard of each tensor.
std::map<std::string, std::string> read_weight_map(const ModelFolder& folder) {
  const Json index = folder.read_json(kWeightsIndexFile, kIndexJson, "model.index");
  const JsonFields fields(index, folder.path_of(kWeightsIndexFile), "model.index");
  const Json& weight_map = fields.object("weight_map");
  std::map<std::string, std::string> shard_of;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map.items()) {
    if (!shard.is_string()) {
      throw bad_index(folder, "a shard's name is not a string", "a file name",
                      preview(shard.dump()));
    }
    shard_of[tensor] = shard.get<std::string>();
    shards.insert(shard_of[tensor]);
    if (static_cast<int64_t>(shards.size()) > kMaxShards) {
      throw bad_index(folder, "too many shards", fmt::format("at most {}", kMaxShards),
                      fmt::format("more than {}", kMaxShards));
    }
  }
  if (shard_of.empty() || static_cast<int64_t>(shard_of.size()) > kMaxTensors) {
    throw bad_index(folder, "too few or too many tensors", fmt::format("1 to {}", kMaxTensors),
                    fmt::to_string(shard_of.size()));
  }
  return shard_of;
}

TensorMap read_shards(const ModelFolder& folder) {
  const std::map<std::string, std::string> shard_of = read_weight_map(folder);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  TensorMap tensors;
  for (const std::string& shard : shards) {
    for (auto& [name, info] : read_safetensors(folder.open_weights(shard), folder.path_of(shard))) {
      const auto listed = shard_of.find(name);
      if (listed == shard_of.end() || listed->second != shard) {
        throw bad_index(
            folder,
            fmt::format("shard '{}' has a tensor that the index does not place there", shard),
            fmt::format("tensor '{}' in weight_map as '{}'", preview(name), shard),
            listed == shard_of.end() ? "not listed" : fmt::format("'{}'", preview(listed->second)));
      }
      tensors[name] = std::move(info);
    }
  }
  for (const auto& [name, shard] : shard_of) {
    if (tensors.count(name) == 0) {
      throw bad_index(folder, "a tensor is not in the shard that the index names",
                      fmt::format("tensor '{}' in '{}'", preview(name), shard), "no such tensor");
    }
  }
  return tensors;
}

}  // namespace

void refuse_no_weights(const std::string& where, const std::vector<std::string>& names) {
  static constexpr std::array<std::string_view, 10> kOther = {
      ".bin", ".pt",      ".pth",  ".pkl",  ".ckpt",
      ".h5",  ".msgpack", ".gguf", ".onnx", ".bin.index.json"};
  std::vector<std::string> others;
  for (const std::string& name : names) {
    if (std::any_of(kOther.begin(), kOther.end(), [&](auto end) { return ends_with(name, end); }))
      others.push_back(preview(name));
  }
  if (!others.empty()) {
    constexpr size_t kShown = 5;
    const size_t more = others.size() - std::min(others.size(), kShown);
    others.resize(others.size() - more);
    throw refusal({.code = "model.format",
                   .what = "the weights are not in the safetensors format",
                   .where = where,
                   .expected = kEitherFile,
                   .found = fmt::format("{}{}", fmt::join(others, ", "),
                                        more > 0 ? fmt::format(" and {} more", more) : ""),
                   .hint = "pickle files can run code and are never opened. Convert once, with a "
                           "copy you trust:\n"
                           "python -c \"from transformers import AutoModel; "
                           "AutoModel.from_pretrained('DIR').save_pretrained('NEW_DIR')\"\n"
                           "and copy the tokenizer files and module folders beside it"});
  }
  throw refusal({.code = "model.missing",
                 .what = "the model has no weights",
                 .where = where,
                 .expected = kEitherFile,
                 .found = "neither",
                 .hint = "download or copy the model again, in full",
                 .exit_code = ExitCode::kNoInput});
}

std::set<std::string> read_shard_names(const ModelFolder& folder) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : read_weight_map(folder)) shards.insert(shard);
  return shards;
}

TensorMap read_weights(const ModelFolder& folder) {
  if (folder.has(kWeightsFile))
    return read_safetensors(folder.open_weights(kWeightsFile), folder.path_of(kWeightsFile));
  if (folder.has(kWeightsIndexFile)) return read_shards(folder);
  refuse_no_weights(folder.path(), folder.list());
}

}  // namespace encode
