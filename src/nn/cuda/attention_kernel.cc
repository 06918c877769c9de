#include <c10/core/DeviceGuard.h>

#include "nn/cuda/kernel_arguments.h"

namespace encode {

namespace {

// Returns true if the heads of each token are dense in memory. The tokens can have any stride.
bool has_packed_heads(const at::Tensor& rows) {
  return rows.stride(2) == 1 && (rows.size(1) == 1 || rows.stride(1) == rows.size(2));
}

// Returns true if the table is undefined, or dense [T, heads, columns] of the type of the query.
bool is_token_table(const at::Tensor& table, const at::Tensor& query, int64_t columns) {
  return !table.defined() || (table.is_contiguous() && table.scalar_type() == query.scalar_type() &&
                              table.size(0) == query.size(0) && table.size(1) == query.size(1) &&
                              table.size(2) == columns);
}

// Returns the number of columns of the tables, or 0 if there are no tables.
int64_t columns_of(const RelativePositions& relative) {
  for (const at::Tensor& table : {relative.bias, relative.of_query, relative.of_key})
    if (table.defined()) return table.size(-1);
  return 0;
}

bool is_supported(const RelativePositions& relative, const at::Tensor& query) {
  const int64_t columns = columns_of(relative);
  const at::Tensor& bias = relative.bias;
  const bool has_bias = !bias.defined() || (bias.is_contiguous() && bias.size(1) == columns &&
                                            bias.scalar_type() == at::kFloat);
  return relative.column_device.defined() && has_bias &&
         is_token_table(relative.of_query, query, columns) &&
         is_token_table(relative.of_key, query, columns);
}

void add_terms(const RelativePositions& relative, EncodeCudaAttention& arguments) {
  arguments.column = relative.column_device.const_data_ptr<int64_t>();
  arguments.reach = relative.column_device.size(0) / 2;
  arguments.columns = columns_of(relative);
  arguments.bias = relative.bias.defined() ? relative.bias.const_data_ptr<float>() : nullptr;
  arguments.of_query = pointer(relative.of_query);
  arguments.of_key = pointer(relative.of_key);
}

// Returns true if the kernels can read the input and write y.
bool is_packed(const AttentionInput& input, const at::Tensor& y) {
  return has_packed_heads(input.query) && has_packed_heads(input.key) &&
         has_packed_heads(input.value) && y.is_contiguous();
}

EncodeCudaAttention arguments_of(const AttentionInput& input, const AttentionOptions& options,
                                 const at::Tensor& y) {
  const at::Tensor& query = input.query;
  EncodeCudaAttention arguments = {};
  arguments.query = pointer(query);
  arguments.key = pointer(input.key);
  arguments.value = pointer(input.value);
  arguments.query_stride = query.stride(0);
  arguments.key_stride = input.key.stride(0);
  arguments.value_stride = input.value.stride(0);
  arguments.y = pointer(y);
  arguments.heads = query.size(1);
  arguments.key_heads = input.key.size(1);
  arguments.head_dim = query.size(2);
  arguments.left = options.window.left;
  arguments.right = options.window.right;
  arguments.scale = static_cast<float>(options.scale);
  arguments.softcap = static_cast<float>(options.softcap);
  arguments.type = *type_of(query.scalar_type());
  arguments.stream = current_stream(query);
  return arguments;
}

}  // namespace

bool CudaKernels::attend(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options, const at::Tensor& y) const {
  const at::Tensor& query = input.query;
  if (!trusts(CudaKernel::kAttention, query.scalar_type()) || !is_packed(input, y) ||
      (options.relative != nullptr && !is_supported(*options.relative, query))) {
    return false;
  }
  const c10::DeviceGuard guard(query.device());
  EncodeCudaAttention arguments = arguments_of(input, options, y);
  arguments.cu_seqlens = batch.cu_seqlens_device.const_data_ptr<int32_t>();
  arguments.sequences = batch.sequences();
  arguments.max_seqlen = batch.max_seqlen;
  if (options.relative != nullptr) add_terms(*options.relative, arguments);
  return launched(CudaKernel::kAttention, table_->attention(&arguments));
}

int64_t CudaKernels::most_short_tokens(at::ScalarType type, int64_t head_dim) const {
  return trusts(CudaKernel::kShortAttention, type) ? encode_cuda_short_tokens(head_dim) : 0;
}

bool CudaKernels::attend_short(const AttentionInput& input, const ShortSequences& sequences,
                               const AttentionOptions& options, const at::Tensor& y) const {
  const at::Tensor& query = input.query;
  if (most_short_tokens(query.scalar_type(), query.size(2)) == 0 || !is_packed(input, y))
    return false;
  const c10::DeviceGuard guard(query.device());
  EncodeCudaAttention arguments = arguments_of(input, options, y);
  arguments.cu_seqlens = sequences.cu_seqlens.const_data_ptr<int32_t>();
  arguments.sequences = sequences.cu_seqlens.size(0) - 1;
  arguments.max_seqlen = sequences.longest;
  return launched(CudaKernel::kShortAttention, table_->short_attention(&arguments));
}

}  // namespace encode
