#include "models/weights.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/mapped_memory.h"
#include "base/units.h"
#include "model_dir/tensor_types.h"

namespace encode {
namespace {

constexpr size_t kMostFoundBytes = 400;

std::string expected_text(const std::vector<Dim>& shape) {
  std::vector<int64_t> sizes;
  std::vector<std::string> labels;
  for (const Dim& dim : shape) {
    sizes.push_back(dim.size);
    labels.push_back(dim.label);
  }
  return fmt::format("{}  = {}", shape_text(sizes), fmt::join(labels, ", "));
}

std::optional<at::ScalarType> scalar_type(const std::string& dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  if (dtype == "F64") return at::kDouble;
  return std::nullopt;
}

// Returns true if the name matches the pattern, as Weights::expect_all_taken() describes.
bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name.ends_with(pattern);
}

// The number of a layer in the name of a tensor: 11 in "encoder.layer.11.output.dense.weight".
struct LayerNumber {
  std::string before;  // "encoder.layer."
  int64_t number = 0;
};

std::optional<LayerNumber> layer_number(const std::string& name) {
  constexpr size_t kMostDigits = 9;
  for (size_t begin = 0, end = name.find('.'); end != std::string::npos;
       begin = end + 1, end = name.find('.', begin)) {
    const std::string part = name.substr(begin, end - begin);
    if (part.size() <= kMostDigits && is_number(part))
      return LayerNumber{.before = name.substr(0, begin), .number = std::stoll(part)};
  }
  return std::nullopt;
}

// Says what the checkpoint has in the place of a missing tensor: fewer layers, or a similar name.
std::string found_instead(const std::map<std::string, TensorInfo>& tensors,
                          const std::string& missing) {
  const std::optional<LayerNumber> layer = layer_number(missing);
  int64_t last_layer = -1;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    names.push_back(name);
    const auto other = layer && name.starts_with(layer->before) ? layer_number(name) : std::nullopt;
    if (other && other->before == layer->before) last_layer = std::max(last_layer, other->number);
  }
  const std::string found = fmt::format("{} tensors, none of which has this name", names.size());
  if (layer && last_layer >= 0 && last_layer < layer->number)
    return fmt::format("{}; the last layer is '{}{}'", found, preview(layer->before), last_layer);
  const std::string near = nearest(missing, names.data(), names.size());
  return near.empty() ? found : fmt::format("{}; the nearest is '{}'", found, preview(near));
}

at::ScalarType scalar_type_of(const std::string& name, const TensorInfo& info) {
  const std::optional<at::ScalarType> type = scalar_type(info.dtype);
  if (type.has_value()) return type.value();
  throw Error(
      {.code = "model.dtype",
       .what = fmt::format("encode cannot compute with the type of tensor '{}'", name),
       .where = info.file,
       .expected = std::string(kWeightTypes),
       .found = info.dtype,
       .hint = "quantized checkpoints are not supported; save the model in float32 or bfloat16"});
}

// Returns the bytes of a tensor at an address that is a multiple of the size of its numbers,
// because code that reads numbers needs this. A file may have a tensor at any byte. The bytes are
// copied if they are at another address.
std::shared_ptr<std::byte> aligned_bytes(const std::shared_ptr<const MappedRange>& range,
                                         const TensorInfo& info) {
  if (info.offset_bytes % dtype_bytes(info.dtype) == 0) return {range, range->data()};
  std::shared_ptr<std::byte> room = map_memory(static_cast<size_t>(info.size_bytes));
  std::memcpy(room.get(), range->data(), static_cast<size_t>(info.size_bytes));
  return room;
}

// Returns a copy of a tensor in row-major order and of type `dtype`. Its memory is mapped, so it
// goes back to the kernel when the copy is destroyed.
at::Tensor converted(const at::Tensor& mapped, at::ScalarType dtype) {
  const auto bytes = static_cast<size_t>(mapped.numel()) * c10::elementSize(dtype);
  const std::shared_ptr<std::byte> room = map_memory(std::max<size_t>(bytes, 1));
  at::Tensor copy = at::from_blob(
      room.get(), mapped.sizes(), [room](void*) {}, at::TensorOptions().dtype(dtype));
  return copy.copy_(mapped);
}

// Returns a tensor of a file in row-major order. It is a copy only if the file has another order.
at::Tensor map_tensor(const OpenedFiles& files, const std::string& name, const TensorInfo& info) {
  const at::TensorOptions options = at::TensorOptions().dtype(scalar_type_of(name, info));
  const std::shared_ptr<std::byte> bytes =
      aligned_bytes(std::make_shared<const MappedRange>(files.weights(info.file), info.offset_bytes,
                                                        info.size_bytes, info.file),
                    info);
  if (info.strides.empty()) {
    return at::from_blob(
        bytes.get(), info.shape, [bytes](void*) {}, options);
  }
  const at::Tensor stored = at::from_blob(
      bytes.get(), info.shape, info.strides, [bytes](void*) {}, options);
  return converted(stored, stored.scalar_type());
}

// Returns the leading parts of a prefix: "", "module." and "module.bert." for "module.bert.".
std::vector<std::string> outer_prefixes(const std::string& prefix) {
  std::vector<std::string> all = {""};
  for (size_t dot = prefix.find('.'); dot != std::string::npos; dot = prefix.find('.', dot + 1))
    all.push_back(prefix.substr(0, dot + 1));
  return all;
}

}  // namespace

bool WeightScope::has(const std::string& name) const {
  return weights_->tensors_.contains(prefix_ + name);
}

const std::string& WeightScope::origin() const { return weights_->origin_; }

at::Tensor WeightScope::take(const std::string& name, const std::vector<Dim>& shape) const {
  const at::Tensor mapped =
      map_tensor(weights_->files_, prefix_ + name, weights_->find(prefix_ + name, shape));
  return mapped.to(weights_->dtype(), /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor WeightScope::take_float(const std::string& name, const std::vector<Dim>& shape) const {
  return map_tensor(weights_->files_, prefix_ + name, weights_->find(prefix_ + name, shape))
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor WeightScope::view(const std::string& name, const std::vector<Dim>& shape) const {
  const at::Tensor mapped =
      map_tensor(weights_->files_, prefix_ + name, weights_->find(prefix_ + name, shape));
  return mapped.scalar_type() == weights_->dtype() ? mapped : converted(mapped, weights_->dtype());
}

Weights::Weights(const std::map<std::string, TensorInfo>& tensors, const OpenedFiles& files,
                 WeightOptions options)
    : tensors_(tensors),
      files_(files),
      dtype_(options.dtype),
      origin_(std::move(options.origin)),
      alive_(std::move(options.alive)) {}

WeightScope Weights::root(const std::string& probe, const std::vector<std::string>& prefixes) {
  std::vector<std::string> found_prefixes;
  std::vector<std::string> names;
  for (const auto& [name, info] : tensors_) {
    if (name != probe && !name.ends_with("." + probe)) continue;
    found_prefixes.push_back(name.substr(0, name.size() - probe.size()));
    names.push_back(fmt::format("'{}'", preview(name)));
  }
  if (found_prefixes.size() == 1) {
    root_ = found_prefixes.front();
    return {*this, root_};
  }
  if (found_prefixes.size() > 1) {
    throw Error({.code = "model.tensor",
                 .what = "the checkpoint has the tensors of this architecture more than once",
                 .where = origin_,
                 .expected = fmt::format("one tensor '{}', with or without a prefix", probe),
                 .found = fmt::format("{}", fmt::join(names, ", ")).substr(0, kMostFoundBytes),
                 .hint = "save the model that makes the embeddings alone, with transformers' "
                         "save_pretrained()"});
  }
  std::vector<std::string> tried;
  for (const std::string& prefix : prefixes) tried.push_back(fmt::format("'{}{}'", prefix, probe));
  std::string found = fmt::format("{} tensors", tensors_.size());
  if (!tensors_.empty())
    found += fmt::format("; the first is '{}'", preview(tensors_.begin()->first));
  throw Error({.code = "model.tensor",
               .what = "the checkpoint does not have the tensors of this architecture",
               .where = origin_,
               .expected = fmt::format("one of the tensors {}, or one with another prefix",
                                       fmt::join(tried, ", ")),
               .found = std::move(found),
               .hint = "check that config.json and the weights belong together"});
}

const TensorInfo& Weights::find(const std::string& name, const std::vector<Dim>& shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error({.code = "model.tensor",
                 .what = fmt::format("tensor '{}' is missing", name),
                 .where = origin_,
                 .expected = expected_text(shape),
                 .found = found_instead(tensors_, name),
                 .hint = "download the model again, with the config.json that belongs to it"});
  }
  const bool fits =
      std::equal(shape.begin(), shape.end(), found->second.shape.begin(), found->second.shape.end(),
                 [](const Dim& dim, int64_t size) { return dim.size == size; });
  if (!fits) {
    throw Error({.code = "model.shape",
                 .what = fmt::format("tensor '{}' does not fit config.json", name),
                 .where = found->second.file,
                 .expected = expected_text(shape),
                 .found = shape_text(found->second.shape),
                 .hint = "check that config.json belongs to this checkpoint"});
  }
  taken_.insert(name);
  alive_();
  return found->second;
}

bool Weights::is_ignored(const std::string& name, const std::vector<std::string>& ignorable) const {
  const std::vector<std::string> outer = outer_prefixes(root_);
  return std::any_of(outer.begin(), outer.end(), [&](const std::string& prefix) {
    return name.starts_with(prefix) &&
           std::any_of(ignorable.begin(), ignorable.end(), [&](const std::string& pattern) {
             return matches(name.substr(prefix.size()), pattern);
           });
  });
}

void Weights::expect_all_taken(const std::vector<std::string>& ignorable) const {
  constexpr int64_t kMostNamed = 5;
  std::vector<std::string> unknown;
  int64_t count = 0;
  for (const auto& [name, info] : tensors_) {
    if (taken_.contains(name) || is_ignored(name, ignorable)) continue;
    if (++count <= kMostNamed) unknown.push_back(fmt::format("'{}'", preview(name)));
  }
  if (count == 0) return;
  throw Error(
      {.code = "model.tensor",
       .what = fmt::format("{} of the checkpoint's tensors {} not part of this architecture", count,
                           count == 1 ? "is" : "are"),
       .where = origin_,
       .expected = "only tensors that the model uses",
       .found = fmt::format("{}{}", fmt::join(unknown, ", "), count > kMostNamed ? ", ..." : ""),
       .hint =
           "check that config.json belongs to this checkpoint: without these tensors the vectors "
           "would be wrong"});
}

}  // namespace encode
