#include "weights/weights.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <ATen/ops/from_blob.h>

#include "encode/error.h"

#include "base/file.h"

namespace encode {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::string expected_text(const std::vector<Dim>& shape) {
  std::vector<int64_t> sizes;
  std::string reasons;
  for (const Dim& dim : shape) {
    sizes.push_back(dim.size);
    reasons += (reasons.empty() ? "" : ", ") + dim.label;
  }
  return shape_text(sizes) + "  = " + reasons;
}

std::optional<at::ScalarType> scalar_type(const std::string& dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  return std::nullopt;
}

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
       .what = "tensor '" + name + "' has a type that cannot be computed with",
       .where = info.file,
       .expected = "F32, F16 or BF16",
       .found = info.dtype,
       .hint = "quantized checkpoints are not supported; save the model in float32 or bfloat16"});
}

at::Tensor map_tensor(const std::string& name, const TensorInfo& info) {
  const auto range = std::make_shared<const MappedRange>(info.file, info.offset_bytes,
                                                         info.size_bytes, "model.open");
  return at::from_blob(
      range->data(), info.shape, [range](void*) {},
      at::TensorOptions().dtype(scalar_type_of(name, info)));
}

}  // namespace

bool WeightScope::has(const std::string& name) const {
  return weights_->tensors_.contains(prefix_ + name);
}

at::Tensor WeightScope::take(const std::string& name, const std::vector<Dim>& shape) const {
  const at::Tensor mapped = map_tensor(prefix_ + name, weights_->find(prefix_ + name, shape));
  return mapped.to(weights_->dtype(), /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor WeightScope::view(const std::string& name, const std::vector<Dim>& shape) const {
  return map_tensor(prefix_ + name, weights_->find(prefix_ + name, shape)).to(weights_->dtype());
}

Weights::Weights(const std::map<std::string, TensorInfo>& tensors, at::ScalarType dtype,
                 std::string origin)
    : tensors_(tensors), dtype_(dtype), origin_(std::move(origin)) {}

WeightScope Weights::root(const std::string& probe, const std::vector<std::string>& prefixes) {
  std::string tried;
  for (const std::string& prefix : prefixes) {
    if (tensors_.contains(prefix + probe)) return {*this, prefix};
    tried.append(tried.empty() ? "'" : ", '").append(prefix).append(probe).append("'");
  }
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "model.tensor",
       .what = "the checkpoint does not hold this architecture",
       .where = origin_,
       .expected = "one of the tensors " + tried,
       .found = std::to_string(tensors_.size()) + " tensors" +
                (tensors_.empty() ? "" : ", the first is '" + tensors_.begin()->first + "'"),
       .hint = "check that config.json and the .safetensors files belong together"});
}

const TensorInfo& Weights::find(const std::string& name, const std::vector<Dim>& shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(
        {.exit_code = ExitCode::kConfig,
         .code = "model.tensor",
         .what = "tensor '" + name + "' is missing",
         .where = origin_,
         .expected = expected_text(shape),
         .found = "no tensor of that name among " + std::to_string(tensors_.size()),
         .hint = "the download may be incomplete, or config.json belongs to another model"});
  }
  const bool fits =
      std::equal(shape.begin(), shape.end(), found->second.shape.begin(), found->second.shape.end(),
                 [](const Dim& dim, int64_t size) { return dim.size == size; });
  if (!fits) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "model.shape",
                 .what = "tensor '" + name + "' does not fit config.json",
                 .where = found->second.file,
                 .expected = expected_text(shape),
                 .found = shape_text(found->second.shape),
                 .hint = "check that config.json belongs to this checkpoint"});
  }
  taken_.insert(name);
  return found->second;
}

void Weights::expect_all_taken(const std::vector<std::string>& ignorable) const {
  std::string unknown;
  int64_t count = 0;
  for (const auto& [name, info] : tensors_) {
    const bool ignored =
        std::any_of(ignorable.begin(), ignorable.end(),
                    [&n = name](const std::string& pattern) { return matches(n, pattern); });
    if (taken_.contains(name) || ignored) continue;
    if (++count <= 5) unknown += (unknown.empty() ? "'" : ", '") + name + "'";
  }
  if (count == 0) return;
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "model.tensor",
       .what =
           std::to_string(count) + " tensors of the checkpoint are not part of this architecture",
       .where = origin_,
       .expected = "only tensors that the model uses",
       .found = unknown + (count > 5 ? ", ..." : ""),
       .hint = "using the rest alone would give other vectors than the model's makers meant"});
}

}  // namespace encode
