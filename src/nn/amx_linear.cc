#include "nn/amx_linear.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <sys/mman.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "nn/cpu_rows.h"
#include "nn/linear.h"

#ifdef ENCODE_X86_64

#include "kernels/amx.h"

namespace encode {
namespace {

namespace amx = kernels::amx;

constexpr std::align_val_t kTileAlignment{64};

// Working memory of one thread, kept from call to call.
class Scratch {
 public:
  std::byte* of_size(int64_t bytes) {
    if (bytes > size_) {
      data_.reset(
          static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kTileAlignment)));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { ::operator delete(p, kTileAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_ = 0;
};

// Written once and read for the life of the model: in huge pages, a page fault for two megabytes
// instead of one for every four kilobytes.
std::shared_ptr<std::byte> allocate_packed(int64_t size) {
  constexpr size_t kHugePageBytes = size_t{2} << 20;
  const auto bytes = static_cast<size_t>(size);
  const auto alignment =
      bytes >= kHugePageBytes ? std::align_val_t{kHugePageBytes} : kTileAlignment;
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(bytes, alignment)),
                                    [alignment](std::byte* p) { ::operator delete(p, alignment); });
  // Only advice: where it is not taken, small pages serve.
  if (bytes >= kHugePageBytes) ::madvise(memory.get(), bytes, MADV_HUGEPAGE);
  return memory;
}

// Matrices that can be packed one behind the other, or else their concatenation.
std::vector<at::Tensor> stackable(const std::vector<at::Tensor>& weights) {
  const bool whole_blocks =
      std::all_of(weights.begin(), weights.end() - 1, [](const at::Tensor& weight) {
        return weight.size(0) % amx::PackedWeight::kBlockColumns == 0;
      });
  return whole_blocks ? weights : std::vector<at::Tensor>{at::cat(weights)};
}

// Returns the bytes of `to` that were filled.
template <typename T>
int64_t pack_parallel(const at::Tensor& weight, amx::Operands operands, std::byte* to) {
  const at::Tensor dense = weight.contiguous();
  const amx::PackedWeight shape = {.operands = operands,
                                   .out_features = dense.size(0),
                                   .in_features = dense.size(1),
                                   .data = nullptr};
  at::parallel_for(0, shape.column_blocks(), 1, [&](int64_t begin, int64_t end) {
    amx::pack(rows_of<const T>(dense), shape, {begin, end}, to);
  });
  return shape.packed_bytes();
}

amx::Epilogue epilogue_for(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return amx::Epilogue::kGelu;
    case Activation::kGeluTanh:
      return amx::Epilogue::kGeluTanh;
    case Activation::kRelu:
      return amx::Epilogue::kRelu;
    case Activation::kSilu:
      return amx::Epilogue::kSilu;
    case Activation::kNone:
      break;
  }
  return amx::Epilogue::kNone;
}

amx::Operands operands_for(at::ScalarType type) {
  if (type == at::kBFloat16) return amx::Operands::kBFloat16;
  switch (at::globalContext().float32MatmulPrecision()) {
    case at::Float32MatmulPrecision::HIGHEST:
      return amx::Operands::kThreeDigits;
    case at::Float32MatmulPrecision::HIGH:
      return amx::Operands::kTwoDigits;
    case at::Float32MatmulPrecision::MEDIUM:
      break;
  }
  return amx::Operands::kOneDigit;
}

// Calls body(T{}) for the types that have a path.
template <typename Body>
bool with_tile_type(at::ScalarType type, const Body& body) {
  if (type == at::kFloat) {
    body(float{});
  } else if (type == at::kBFloat16) {
    body(kernels::BFloat16{});
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool has_amx() { return kernels::capability() == kernels::Capability::kAmx; }

std::optional<AmxLinear> AmxLinear::make(const std::vector<at::Tensor>& weights,
                                         const at::Tensor& bias) {
  const at::Tensor& first = weights.front();
  if (!first.device().is_cpu() || !has_amx() || first.size(1) > amx::PackedWeight::kMaxInFeatures) {
    return std::nullopt;
  }
  AmxLinear linear;
  linear.type_ = first.scalar_type();
  linear.in_features_ = first.size(1);
  for (const at::Tensor& weight : weights) linear.out_features_ += weight.size(0);
  const amx::Operands operands = operands_for(linear.type_);
  linear.operands_ = static_cast<int>(operands);
  const bool packed = with_tile_type(linear.type_, [&](auto type) {
    using T = decltype(type);
    const amx::PackedWeight whole = {.operands = operands,
                                     .out_features = linear.out_features_,
                                     .in_features = linear.in_features_,
                                     .data = nullptr};
    linear.packed_ = allocate_packed(whole.packed_bytes());
    std::byte* to = linear.packed_.get();
    for (const at::Tensor& weight : stackable(weights))
      to += pack_parallel<T>(weight, operands, to);
  });
  if (!packed) return std::nullopt;
  if (bias.defined()) linear.bias_ = bias.to(at::kFloat).contiguous();
  return linear;
}

bool AmxLinear::quantizes() const { return amx::Operands{operands_} == amx::Operands::kOneDigit; }

at::Tensor AmxLinear::operator()(const at::Tensor& x, const at::Tensor& residual,
                                 Activation activation) const {
  static thread_local Scratch scratch;
  const at::Tensor in = x.contiguous();
  const at::Tensor added = residual.defined() ? residual.contiguous() : residual;
  at::Tensor y = at::empty({in.size(0), out_features_}, in.options());
  with_tile_type(type_, [&](auto type) {
    using T = decltype(type);
    const amx::PackedWeight weight = {.operands = amx::Operands{operands_},
                                      .out_features = out_features_,
                                      .in_features = in_features_,
                                      .data = packed_.get()};
    const amx::Linear<T> call = {.x = rows_of<const T>(in),
                                 .bias = bias_.defined() ? rows_of<const float>(bias_) : nullptr,
                                 .residual = added.defined() ? rows_of<const T>(added) : nullptr,
                                 .y = rows_of<T>(y),
                                 .rows = in.size(0),
                                 .epilogue = epilogue_for(activation)};
    amx::linear(weight, call, scratch.of_size(amx::scratch_bytes(weight)));
  });
  return y;
}

}  // namespace encode

#else

namespace encode {

bool has_amx() { return false; }

std::optional<AmxLinear> AmxLinear::make(const std::vector<at::Tensor>&, const at::Tensor&) {
  return {};
}

at::Tensor AmxLinear::operator()(const at::Tensor&, const at::Tensor&, Activation) const {
  return {};
}

bool AmxLinear::quantizes() const { return false; }

}  // namespace encode

#endif
