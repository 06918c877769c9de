#include "model_dir/weight_files.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/safetensors.h"
#include "model_dir/torch_file/torch_weights.h"

namespace encode {
namespace {

constexpr const char* kAnyFile =
    "model.safetensors or pytorch_model.bin, or an index of shards of these names";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

TensorMap read_file(const ModelFolder& folder, const std::string& name, bool pickled) {
  const UniqueFd& fd = folder.open_weights(name);
  return pickled ? read_torch_weights(fd, folder.path_of(name))
                 : read_safetensors(fd, folder.path_of(name));
}

// The index of the shards of a transformer.
class ShardIndex {
 public:
  ShardIndex(const ModelFolder& folder, const WeightFormat& format)
      : folder_(folder), format_(format) {
    const std::string where = folder.path_of(format.index);
    const Json index = folder.read_json(format.index, kIndexJson, "model.index");
    const JsonFields fields(index, where, "model.index");
    for (const auto& [tensor, shard] : fields.object("weight_map").items()) {
      if (!shard.is_string())
        throw bad("a shard's name is not a string", "a file name", preview(shard.dump()));
      shard_of_[tensor] = shard.get<std::string>();
      if (!is_head(tensor)) shards_.insert(shard_of_[tensor]);
      if (static_cast<int64_t>(shards_.size()) > kMaxShards) {
        throw bad("too many shards", fmt::format("at most {}", kMaxShards),
                  fmt::format("more than {}", kMaxShards));
      }
    }
    if (shards_.empty() || static_cast<int64_t>(shard_of_.size()) > kMaxTensors) {
      throw bad("too few or too many tensors", fmt::format("1 to {}", kMaxTensors),
                fmt::to_string(shard_of_.size()));
    }
  }

  // Returns the shards to read: those that have at least one tensor that does not belong to a head.
  const std::set<std::string>& shards() const { return shards_; }

  TensorMap read() const {
    TensorMap tensors;
    for (const std::string& shard : shards_) {
      for (auto& [name, info] : read_file(folder_, shard, format_.pickled)) {
        require_listed(name, shard);
        tensors[name] = std::move(info);
      }
    }
    for (const auto& [name, shard] : shard_of_) {
      if (!tensors.contains(name) && shards_.contains(shard)) {
        throw bad("a tensor is not in the shard that the index names",
                  fmt::format("tensor '{}' in '{}'", preview(name), shard), "no such tensor");
      }
    }
    return tensors;
  }

 private:
  // The head of a language model, which no embedding needs. In large models it can fill a shard.
  static bool is_head(std::string_view tensor) {
    return tensor.starts_with("lm_head.") || tensor.find(".lm_head.") != std::string_view::npos;
  }

  void require_listed(const std::string& name, const std::string& shard) const {
    const auto listed = shard_of_.find(name);
    if (listed != shard_of_.end() && listed->second == shard) return;
    throw bad(
        fmt::format("shard '{}' has a tensor that the index does not place there", shard),
        fmt::format("tensor '{}' in weight_map as '{}'", preview(name), shard),
        listed == shard_of_.end() ? "not listed" : fmt::format("'{}'", preview(listed->second)));
  }

  Error bad(std::string what, std::string expected, std::string found) const {
    return Error({.code = "model.index",
                  .what = std::move(what),
                  .where = folder_.path_of(format_.index),
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = "download the index and all shards again"});
  }

  const ModelFolder& folder_;
  const WeightFormat& format_;
  std::map<std::string, std::string> shard_of_;
  std::set<std::string> shards_;
};

}  // namespace

void refuse_no_weights(const std::string& where, const std::vector<std::string>& names) {
  static constexpr std::array<std::string_view, 9> kOther = {
      ".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack", ".gguf", ".onnx"};
  std::vector<std::string> others;
  for (const std::string& name : names) {
    if (std::any_of(kOther.begin(), kOther.end(), [&](auto end) { return ends_with(name, end); }))
      others.push_back(preview(name));
  }
  if (!others.empty()) {
    constexpr size_t kShown = 5;
    const size_t more = others.size() - std::min(others.size(), kShown);
    others.resize(others.size() - more);
    throw Error({.code = "model.format",
                 .what = "the weights are in a format that encode does not read",
                 .where = where,
                 .expected = kAnyFile,
                 .found = fmt::format("{}{}", fmt::join(others, ", "),
                                      more > 0 ? fmt::format(" and {} more", more) : ""),
                 .hint = "convert once, with a copy you trust:\n"
                         "python -c \"from transformers import AutoModel; "
                         "AutoModel.from_pretrained('DIR').save_pretrained('NEW_DIR')\"\n"
                         "and copy the tokenizer files and module folders beside it"});
  }
  throw Error({.code = "model.missing",
               .what = "the model has no weights",
               .where = where,
               .expected = kAnyFile,
               .found = "none of them",
               .hint = "download or copy the model again, in full"});
}

std::string module_weights_file(const ModelFolder& folder) {
  const auto* const found =
      std::find_if(kWeightFormats.begin(), kWeightFormats.end(),
                   [&](const WeightFormat& format) { return folder.has(format.file); });
  return found != kWeightFormats.end() ? found->file : kWeightsFile;
}

TensorMap read_module_weights(const ModelFolder& folder) {
  const std::string name = module_weights_file(folder);
  return read_file(folder, name, name == kPickledWeightsFile);
}

std::set<std::string> read_shard_names(const ModelFolder& folder, const WeightFormat& format) {
  return ShardIndex(folder, format).shards();
}

TensorMap read_weights(const ModelFolder& folder) {
  for (const WeightFormat& format : kWeightFormats) {
    if (folder.has(format.file)) return read_file(folder, format.file, format.pickled);
    if (folder.has(format.index)) return ShardIndex(folder, format).read();
  }
  refuse_no_weights(folder.path(), folder.list());
}

}  // namespace encode
