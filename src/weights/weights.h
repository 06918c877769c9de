// The tensors of a model, asked for by scoped name with the shape that config.json implies.
//
//   WeightScope layer = weights.root().scope("encoder.layer.0");
//   at::Tensor w = layer.take("attention.self.query.weight", {{"hidden_size", 384}, {"hidden_size",
//   384}});
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

namespace encode {

// One dimension of an expected shape with the reason for its size, for the message when it does not
// fit.
struct Dim {
  std::string label;  // "hidden_size", "num_attention_heads 16 x head_dim 128"
  int64_t size = 0;
};

class Weights;

// A view of the tensors under a dotted prefix. Cheap to copy; must not outlive its Weights.
class WeightScope {
 public:
  WeightScope(Weights& weights, std::string prefix)
      : weights_(&weights), prefix_(std::move(prefix)) {}

  WeightScope scope(const std::string& name) const { return {*weights_, prefix_ + name + "."}; }
  bool has(const std::string& name) const;
  // Reads one tensor from its file, in the compute type, on the CPU. Throws Error
  // (ExitCode::kConfig, "model.tensor" or "model.shape") where it is missing or its shape is not
  // `shape`.
  at::Tensor take(const std::string& name, const std::vector<Dim>& shape) const;
  // The same for a tensor that is repacked or moved at once: it may be the file's own pages, which
  // must not be kept (see MappedRange).
  at::Tensor view(const std::string& name, const std::vector<Dim>& shape) const;

 private:
  Weights* weights_;
  std::string prefix_;
};

// Loads tensors one by one, so that at no time more than one tensor exists twice in host memory.
// One thread.
class Weights {
 public:
  // `origin` names the model in messages. `dtype` is the type in which tensors are handed out.
  Weights(const std::map<std::string, TensorInfo>& tensors, at::ScalarType dtype,
          std::string origin);

  // The scope in which `probe` (a tensor that every checkpoint of the architecture has) exists: hub
  // checkpoints carry prefixes such as "bert." or "model." that base models are saved without.
  // Throws Error naming what was tried.
  WeightScope root(const std::string& probe, const std::vector<std::string>& prefixes);

  // Refuses a checkpoint with tensors that were neither taken nor named in `ignorable` (suffixes or
  // prefixes ending in
  // '*'): a tensor nobody asked for usually means that config.json describes another model.
  void expect_all_taken(const std::vector<std::string>& ignorable) const;

  at::ScalarType dtype() const { return dtype_; }

 private:
  friend class WeightScope;
  // Checks name and shape, and marks the tensor as used.
  const TensorInfo& find(const std::string& name, const std::vector<Dim>& shape);

  const std::map<std::string, TensorInfo>& tensors_;
  at::ScalarType dtype_;
  std::string origin_;
  std::set<std::string> taken_;
};

}  // namespace encode
