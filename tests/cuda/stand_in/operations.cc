// Implements every operation of LibTorch on the device: it runs the CPU kernel on the same memory.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "device.h"
#include "tensors.h"

namespace stand_in {

at::Tensor on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  const at::TensorOptions options = tensor.options().device(c10::kCPU);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(tensor.unsafeGetTensorImpl()->mutable_data(), tensor.sizes(),
                       tensor.strides(), options);
}

at::Tensor device_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  return at::detail::empty_strided_generic(sizes, strides, &device_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA), type);
}

at::Tensor to_device(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.is_non_overlapping_and_dense() ? tensor : at::empty_like(tensor);
  const at::Tensor out = device_tensor(tensor.sizes(), dense.strides(), tensor.scalar_type());
  on_cpu(out).copy_(tensor);
  return out;
}

void count_bytes(std::initializer_list<at::Tensor> touched) {
  for (const at::Tensor& tensor : touched) {
    if (!tensor.defined() || !tensor.is_cuda()) continue;
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    counters().bytes += std::min(bytes, static_cast<int64_t>(tensor.storage().nbytes()));
  }
}

namespace {

const at::Tensor& resize(const at::Tensor& tensor, at::IntArrayRef sizes,
                         std::optional<at::MemoryFormat> /*format*/) {
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  const size_t bytes = static_cast<size_t>(c10::multiply_integers(sizes)) * tensor.element_size();
  if (storage.nbytes() < bytes) {
    storage.set_data_ptr_noswap(device_allocator().allocate(bytes));
    storage.set_nbytes(bytes);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

// The tensors of one call of an operation. The CPU kernel gets an alias of each device tensor,
// which is a CPU tensor with the same memory.
class Aliases {
 public:
  at::Tensor replace(const at::Tensor& tensor) {
    const at::Tensor alias = on_cpu(tensor);
    if (tensor.defined() && tensor.is_cuda()) {
      TORCH_CHECK(known_.empty() || known_.front().second.device() == tensor.device(),
                  "Expected all tensors to be on the same device");
      known_.emplace_back(alias, tensor);
    }
    return alias;
  }

  void replace_in(c10::IValue& value) {
    if (value.isTensor()) {
      value = replace(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(replace(tensor));
      value = list;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional(replace(*tensor)) : tensor);
      value = list;
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      value = c10::Device(c10::kCPU);
    }
  }

  // If an operation has resized the alias of an empty tensor, the original is still empty. Resizes
  // the original and copies the result into it.
  void copy_resized_back() const {
    for (const auto& [alias, original] : known_) {
      if (alias.numel() == original.numel()) continue;
      resize(original, alias.sizes(), std::nullopt);
      on_cpu(original).copy_(alias);
    }
  }

  at::Tensor original_of(const at::Tensor& result) const {
    if (!result.defined()) return result;
    for (const auto& [alias, original] : known_)
      if (alias.is_same(result)) return original;
    return to_device(result);
  }

  void restore_in(c10::IValue& value) const {
    if (value.isTensor()) {
      value = original_of(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(original_of(tensor));
      value = list;
    }
  }

  c10::OptionalDeviceGuard guard() const {
    return known_.empty() ? c10::OptionalDeviceGuard()
                          : c10::OptionalDeviceGuard(known_.front().second.device());
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> known_;  // alias, original
};

// Returns true if the size of the result depends on values, so that the host has to wait for the
// device. Indexing with a mask is such an operation, because it calls nonzero.
bool waits_for_values(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) {
  static constexpr std::array<std::string_view, 4> kNames = {
      "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::repeat_interleave"};
  const std::string_view name = op.operator_name().name;
  for (const std::string_view known : kNames)
    if (name == known) return true;
  if (name != "aten::index" && name != "aten::index_put_") return false;
  for (const c10::IValue& value : arguments) {
    if (!value.isOptionalTensorList()) continue;
    for (const auto& index : value.toOptionalTensorVector())
      if (index && index->scalar_type() == at::kBool) return true;
  }
  return false;
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  count_launch();
  if (waits_for_values(op, *stack)) wait_for_device();
  Aliases aliases;
  const size_t first = stack->size() - op.schema().arguments().size();
  for (size_t i = first; i < stack->size(); ++i) {
    const c10::IValue& value = (*stack)[i];
    if (value.isTensor() && !op.schema().arguments()[i - first].is_out())
      count_bytes({value.toTensor()});
    aliases.replace_in((*stack)[i]);
  }
  const c10::OptionalDeviceGuard guard = aliases.guard();
  op.callBoxed(stack);
  aliases.copy_resized_back();
  const size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    aliases.restore_in((*stack)[i]);
    if ((*stack)[i].isTensor()) count_bytes({(*stack)[i].toTensor()});
  }
}

c10::Device device_or_current(std::optional<at::Device> device) {
  return device && device->has_index() ? *device : c10::Device(c10::kCUDA, current_device());
}

at::Tensor empty_memory_format(at::IntArrayRef sizes, std::optional<at::ScalarType> type,
                               std::optional<at::Layout> /*layout*/,
                               std::optional<at::Device> device, std::optional<bool> /*pinned*/,
                               std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device_or_current(device));
  return at::detail::empty_generic(sizes, &device_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   type.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> device, std::optional<bool> /*pinned*/) {
  const c10::DeviceGuard guard(device_or_current(device));
  return device_tensor(sizes, strides, type.value_or(at::kFloat));
}

// Copies a tensor. A copy between pinned memory and the device is asynchronous if `non_blocking` is
// true. The host waits for every other copy between host and device, as CUDA does for pageable
// memory.
at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  count_launch();
  count_bytes({to, from});
  const at::Tensor target = on_cpu(to);
  const at::Tensor source = on_cpu(from);
  const bool crosses = to.is_cuda() != from.is_cuda();
  const bool later = non_blocking && is_pinned((to.is_cuda() ? from : to).const_data_ptr());
  if (crosses && !later) wait_for_device();
  if (crosses && later && to.is_cpu()) {
    copy_later(to, source.to(to.scalar_type(), /*non_blocking=*/false, /*copy=*/true));
    return to;
  }
  if (crosses && later) reading_later(from);
  target.copy_(source);
  return to;
}

at::Scalar local_scalar(const at::Tensor& tensor) {
  wait_for_device();
  return on_cpu(tensor).item();
}

const bool allocator_is_set = [] {
  c10::SetAllocator(c10::kCUDA, &device_allocator(), /*priority=*/1);
  return true;
}();

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty_memory_format);
  library.impl("empty_strided", empty_strided);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view",
               static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(at::native::view));
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("copy_", copy);
  library.impl("resize_", resize);
  library.impl("_local_scalar_dense", local_scalar);
}

}  // namespace
}  // namespace stand_in
