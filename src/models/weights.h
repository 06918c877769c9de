// The tensors of a model. A model reads each tensor by its name within a scope and states the shape
// that config.json implies:
//
//   WeightScope layer = weights.root(probe, prefixes).scope("encoder.layer.0");
//   at::Tensor weight = layer.take("attention.self.query.weight",
//                                  {{"hidden_size", 384}, {"hidden_size", 384}});
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

#include "model_dir/opened_files.h"

namespace encode {

// One dimension of an expected shape. The label says where the size comes from, for the error
// message if a tensor has another shape.
struct Dim {
  std::string label;  // "hidden_size", "num_attention_heads 16 x head_dim 128"
  int64_t size = 0;
};

class Weights;

// The tensors with names that begin with a prefix such as "encoder.layer.0.". A scope is cheap to
// copy, and must not outlive its Weights. One thread at a time may use the scopes of one Weights.
class WeightScope {
 public:
  WeightScope(Weights& weights, std::string prefix)
      : weights_(&weights), prefix_(std::move(prefix)) {}

  WeightScope scope(const std::string& name) const { return {*weights_, prefix_ + name + "."}; }
  bool has(const std::string& name) const;
  const std::string& origin() const;  // WeightOptions::origin
  // Returns a copy of a tensor in the compute type, on the CPU. Throws Error kConfig:
  // - "model.tensor" if the tensor does not exist;
  // - "model.shape" if its shape is not `shape`;
  // - "model.dtype" if it is not float32, float16, bfloat16 or float64, which is rounded.
  at::Tensor take(const std::string& name, const std::vector<Dim>& shape) const;
  // Does the same as take(), but returns float32.
  at::Tensor take_float(const std::string& name, const std::vector<Dim>& shape) const;
  // Does the same as take(), but makes no copy if the tensor has the compute type, row-major order
  // and an aligned place in the file. The result then refers to the mapped pages of the file. The
  // caller must repack it or copy it to the device at once, and must not keep it, because the file
  // may change (MappedRange).
  at::Tensor view(const std::string& name, const std::vector<Dim>& shape) const;

 private:
  Weights* weights_;
  std::string prefix_;
};

struct WeightOptions {
  at::ScalarType dtype = at::kFloat;  // the compute type, the type in which tensors are returned
  std::string origin;                 // the folder of the model, for error messages
  // Called for each tensor that is read, as a sign of life (EncoderOptions::alive).
  std::function<void()> alive = [] {};
};

// The tensors of a model. They are loaded one by one, so at any time at most one tensor is twice in
// host memory. Only one thread may use it.
class Weights {
 public:
  // `files` has the files of `tensors` open. Both must outlive this object. The caller checks the
  // content of the files with OpenedFiles::check_weights().
  Weights(const std::map<std::string, TensorInfo>& tensors, const OpenedFiles& files,
          WeightOptions options);

  // Finds the prefix with which the tensor `probe` exists, and returns its scope. Every checkpoint
  // of the architecture must have `probe`. A checkpoint of the base model has no prefix. In others
  // the prefix is the name that a class with a head or a training program gives to the model:
  // "bert.", "model.", "0.auto_model.", "module.". `prefixes` are the prefixes of published
  // checkpoints, for the message. Throws Error kConfig "model.tensor" with the names if the tensor
  // exists with no prefix, or with several.
  WeightScope root(const std::string& probe, const std::vector<std::string>& prefixes);

  // Throws Error kConfig "model.tensor" if the checkpoint has a tensor that was not read and does
  // not match a pattern in `ignorable`. A pattern that ends in '*' is a prefix; any other pattern
  // is a suffix. A tensor that the model does not read usually means that config.json describes
  // another model. A pattern is matched with the rest of a name after the prefix that root() has
  // found, or after a leading part of this prefix: if the prefix is "module.bert.", "cls.*" matches
  // "module.cls.bias".
  void expect_all_taken(const std::vector<std::string>& ignorable) const;

  at::ScalarType dtype() const { return dtype_; }
  // Returns the names of the tensors that were read.
  const std::set<std::string>& taken() const { return taken_; }

 private:
  friend class WeightScope;
  // Checks the name and the shape of a tensor, marks it as read, and calls `alive`.
  const TensorInfo& find(const std::string& name, const std::vector<Dim>& shape);

  bool is_ignored(const std::string& name, const std::vector<std::string>& ignorable) const;

  const std::map<std::string, TensorInfo>& tensors_;
  const OpenedFiles& files_;
  at::ScalarType dtype_;
  std::string origin_;
  std::function<void()> alive_;
  std::string root_;  // the prefix that root() has found
  std::set<std::string> taken_;
};

}  // namespace encode
