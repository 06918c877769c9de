#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "engine/load_notes.h"
#include "engine/product_format.h"
#include "engine/transformer.h"
#include "nn/cuda/device.h"
#include "nn/cuda/kernels.h"
#include "nn/fp8/linear.h"
#include "nn/layers/pooling.h"

namespace encode {
namespace {

at::ScalarType scalar_type(ComputeType type) {
  switch (type) {
    case ComputeType::kBFloat16:
    case ComputeType::kFp8:
      return at::kBFloat16;
    case ComputeType::kFloat16:
      return at::kHalf;
    case ComputeType::kFloat32:
    case ComputeType::kInt8:
      break;
  }
  return at::kFloat;
}

struct Notes {
  std::mutex mutex;
  std::vector<LoadNote> notes;
};

Notes& pending_notes() {
  static Notes pending;
  return pending;
}

void note(std::string level, std::string message) {
  Notes& pending = pending_notes();
  const std::lock_guard lock(pending.mutex);
  pending.notes.push_back({std::move(level), std::move(message)});
}

void open_kernels(at::Device device, ComputeType type) {
  const CudaKernelReport& report = open_cuda_kernels(device, scalar_type(type));
  note("debug", "CUDA: " + report.summary() + " in use for " + std::string(to_string(type)));
  for (const KernelFinding& finding : report.findings) {
    if (finding.passed) continue;
    note("warning", std::string("CUDA kernel ") + to_string(finding.kernel) + " is not used for " +
                        std::string(to_string(type)) + ": " + finding.reason +
                        "; LibTorch's operations take its place, which is slower");
  }
}

// Rotary tables are made for the longest sequence; without any stated limit this one holds.
constexpr int64_t kLongestSequence = 32768;

// Nothing is multiplied in 8-bit floats before the device has shown that it can.
void require_fp8(at::Device device) {
  const auto refuse = [&](std::string found) {
    throw Error({.exit_code = ExitCode::kUnavailable,
                 .code = "device.fp8",
                 .what = "dtype fp8 is not offered on this device",
                 .where = device_description(device),
                 .expected = "an NVIDIA GPU of compute capability 8.9, or 9.0 and above",
                 .found = std::move(found),
                 .hint = "use bfloat16"});
  };
  if (device.is_cpu()) refuse("a CPU");
  if (!supports_fp8(device)) refuse("compute capability " + compute_capability(device));
  const std::string reason = check_fp8_product(device);
  if (!reason.empty()) refuse("a device that fails the self-check of 8-bit products: " + reason);
}

void note_fp8(const Fp8Counts& products) {
  note("debug", "fp8: " + std::to_string(products.quantized) + " products in 8-bit floats");
  if (products.kept == 0) return;
  note("warning", "fp8: " + std::to_string(products.kept) + " of " +
                      std::to_string(products.quantized + products.kept) +
                      " products stay in bfloat16: their widths are no multiples of 16");
}

}  // namespace

std::vector<LoadNote> take_load_notes() {
  Notes& pending = pending_notes();
  const std::lock_guard lock(pending.mutex);
  return std::exchange(pending.notes, {});
}

at::Tensor Transformer::embed(const PackedBatch& batch, int64_t slots) const {
  PackedInput input = to_device(batch, slots, device);
  if (reads_one_token(head.pooling()))
    input.pooled_rows = pooled_rows(input, head.pooling().front(), format);
  return head(model->forward(input), input);
}

void check_batch(const PackedBatch& batch, const Transformer& transformer) {
  const auto refuse = [&](size_t sequence, std::string code, std::string what, std::string expected,
                          std::string found) {
    throw Error(
        {.exit_code = ExitCode::kData,
         .code = std::move(code),
         .what = std::move(what),
         .where = "row " + std::to_string(batch.rows[sequence]) + " of the window",
         .expected = std::move(expected),
         .found = std::move(found),
         .hint = "the tokenizer and the weights of the model directory do not belong together"});
  };
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
    const int32_t begin = batch.cu_seqlens[b];
    const int32_t end = batch.cu_seqlens[b + 1];
    if (end - begin > transformer.max_length) {
      refuse(b, "batch.length", "sequence is too long for the model",
             "at most " + std::to_string(transformer.max_length) + " tokens",
             std::to_string(end - begin));
    }
    for (int32_t t = begin; t < end; ++t) {
      const int32_t id = batch.input_ids[static_cast<size_t>(t)];
      if (id < 0 || id >= transformer.vocab_size) {
        refuse(b, "batch.token_id", "token id is outside the embedding table",
               "0 to " + std::to_string(transformer.vocab_size - 1), std::to_string(id));
      }
    }
  }
}

void Transformer::scatter(const at::Tensor& embeddings, const PackedBatch& batch,
                          std::span<float> out) const {
  const auto* data = embeddings.const_data_ptr<float>();
  for (size_t b = 0; b < batch.rows.size(); ++b) {
    const int64_t first = token_embeddings ? batch.cu_seqlens[b] : static_cast<int64_t>(b);
    const int64_t count = token_embeddings ? batch.cu_seqlens[b + 1] - first : 1;
    const int64_t to = token_embeddings ? batch.token_offsets[b] : batch.rows[b];
    std::copy_n(data + first * dim, count * dim, out.data() + to * dim);
  }
}

std::unique_ptr<Encoder> load_encoder(const EncoderOptions& options) {
  const ModelDirectory directory =
      open_model_directory(resolve_model(options.result.model, options.result.revision));
  const EffectiveResult effective = effective_result(directory, options.result);
  const at::Device device = open_device(options.hardware);
  if (device.is_cuda()) open_kernels(device, effective.dtype);

  const Json config = parse_json(directory.config_json, {},
                                 directory.transformer_path + "/config.json", "model.config");
  const JsonFields fields(config, directory.transformer_path + "/config.json", "model.config");
  Weights weights(directory.tensors, scalar_type(effective.dtype), directory.transformer_path);
  const int64_t max_length = effective.max_length > 0 ? effective.max_length : kLongestSequence;
  const bool fp8 = effective.dtype == ComputeType::kFp8;
  if (fp8) require_fp8(device);
  const ProductFormat format = product_format(options.result, effective.dtype, device);
  auto trace = std::make_unique<ProductTrace>();
  Fp8Counts fp8_counts;
  auto model =
      load_model(directory.model_type, {.config = fields,
                                        .weights = weights,
                                        .device = device,
                                        .products = {.format = format, .trace = trace.get()},
                                        .fp8 = fp8 ? &fp8_counts : nullptr,
                                        .max_positions = max_length,
                                        .causal = options.result.causal});
  if (fp8) note_fp8(fp8_counts);
  EmbeddingHead head(effective, device, trace.get());
  Transformer transformer = {.trace = std::move(trace),
                             .model = std::move(model),
                             .head = std::move(head),
                             .device = device,
                             .format = format,
                             .dim = effective.dim,
                             .vocab_size = directory.vocab_size,
                             .max_length = max_length,
                             .token_embeddings = effective.token_embeddings()};
  return device.is_cpu() ? make_cpu_encoder(std::move(transformer), options)
                         : make_cuda_encoder(std::move(transformer), options);
}

}  // namespace encode
