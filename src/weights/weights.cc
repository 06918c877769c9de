#include "weights/weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <utility>

#include <ATen/ops/from_blob.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/mapped_memory.h"
#include "base/units.h"

namespace encode {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

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
  return std::nullopt;
}

// Returns true if the name matches the pattern, as Weights::expect_all_taken() describes.
bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name.ends_with(pattern);
}

at::ScalarType scalar_type_of(const std::string& name, const TensorInfo& info) {
  const std::optional<at::ScalarType> type = scalar_type(info.dtype);
  if (type.has_value()) return type.value();
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "model.dtype",
       .what = fmt::format("encode cannot compute with the type of tensor '{}'", name),
       .where = info.file,
       .expected = "F32, F16 or BF16",
       .found = info.dtype,
       .hint = "quantized checkpoints are not supported; save the model in float32 or bfloat16"});
}

at::Tensor map_tensor(const OpenedFiles& files, const std::string& name, const TensorInfo& info) {
  const auto range = std::make_shared<const MappedRange>(
      files.weights(info.file), info.offset_bytes, info.size_bytes, info.file);
  return at::from_blob(
      range->data(), info.shape, [range](void*) {},
      at::TensorOptions().dtype(scalar_type_of(name, info)));
}

// Converts a tensor into memory that goes back to the kernel as soon as the tensor is packed.
at::Tensor converted(const at::Tensor& mapped, at::ScalarType dtype) {
  const auto bytes = static_cast<size_t>(mapped.numel()) * c10::elementSize(dtype);
  const std::shared_ptr<std::byte> room = map_memory(std::max<size_t>(bytes, 1));
  at::Tensor copy = at::from_blob(
      room.get(), mapped.sizes(), [room](void*) {}, at::TensorOptions().dtype(dtype));
  return copy.copy_(mapped);
}

}  // namespace

bool WeightScope::has(const std::string& name) const {
  return weights_->tensors_.contains(prefix_ + name);
}

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
  std::vector<std::string> tried;
  for (const std::string& prefix : prefixes) {
    if (tensors_.contains(prefix + probe)) return {*this, prefix};
    tried.push_back(fmt::format("'{}{}'", prefix, probe));
  }
  std::string found = fmt::format("{} tensors", tensors_.size());
  if (!tensors_.empty()) found += fmt::format("; the first is '{}'", tensors_.begin()->first);
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "model.tensor",
               .what = "the checkpoint does not have the tensors of this architecture",
               .where = origin_,
               .expected = fmt::format("one of the tensors {}", fmt::join(tried, ", ")),
               .found = std::move(found),
               .hint = "check that config.json and the .safetensors files belong together"});
}

const TensorInfo& Weights::find(const std::string& name, const std::vector<Dim>& shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "model.tensor",
                 .what = fmt::format("tensor '{}' is missing", name),
                 .where = origin_,
                 .expected = expected_text(shape),
                 .found = fmt::format("{} tensors, none of which has this name", tensors_.size()),
                 .hint = "download the model again, with the config.json that belongs to it"});
  }
  const bool fits =
      std::equal(shape.begin(), shape.end(), found->second.shape.begin(), found->second.shape.end(),
                 [](const Dim& dim, int64_t size) { return dim.size == size; });
  if (!fits) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "model.shape",
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

void Weights::expect_all_taken(const std::vector<std::string>& ignorable) const {
  constexpr int64_t kMostNamed = 5;
  std::vector<std::string> unknown;
  int64_t count = 0;
  for (const auto& [name, info] : tensors_) {
    const bool ignored =
        std::any_of(ignorable.begin(), ignorable.end(),
                    [&n = name](const std::string& pattern) { return matches(n, pattern); });
    if (taken_.contains(name) || ignored) continue;
    if (++count <= kMostNamed) unknown.push_back(fmt::format("'{}'", preview(name)));
  }
  if (count == 0) return;
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "model.tensor",
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
