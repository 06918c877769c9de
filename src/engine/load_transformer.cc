#include "engine/load_transformer.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "encode/error.h"

#include "base/units.h"
#include "engine/equal_rows.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/cuda_kernels.h"
#include "nn/fp8/fp8_multiply.h"

namespace encode {
namespace {

using Notes = std::vector<LoadNote>;

void require_int8(c10::Device device) {
  if (device.is_cpu() && linear_kernel(ProductFormat::kInt8)) return;
  throw Error(
      {.code = "device.int8",
       .what = "this device does not support dtype int8",
       .where = device_description(device),
       .expected = "a CPU with AVX2, or of 64-bit ARM",
       .found = device.is_cpu() ? "a CPU without it, or limited by ENCODE_CPU_CAPABILITY" : "a GPU",
       .hint = "give --dtype bfloat16 (semantic.dtype)"});
}

void open_kernels(at::Device device, ComputeType type, ProductFormat format, Notes& notes) {
  const CudaKernelReport& report = open_cuda_kernels(device, compute_type(format));
  notes.push_back(
      {LogLevel::kDebug, fmt::format("CUDA: {} in use for {}", report.summary(), to_string(type))});
  for (const KernelFinding& finding : report.findings) {
    if (finding.passed) continue;
    notes.push_back({LogLevel::kWarning,
                     fmt::format("CUDA kernel {} is not used for {}: {}; LibTorch's operations "
                                 "take its place, which is slower",
                                 to_string(finding.kernel), to_string(type), finding.reason)});
  }
}

// Throws Error "device.fp8" if the device cannot multiply 8-bit floats, or if the self-check of its
// fp8 matrix products fails.
void require_fp8(at::Device device) {
  const auto refuse = [&](std::string found) {
    throw Error({.code = "device.fp8",
                 .what = "this device does not support dtype fp8",
                 .where = device_description(device),
                 .expected = "an NVIDIA GPU of compute capability 9.0 or above",
                 .found = std::move(found),
                 .hint = "give --dtype bfloat16 (semantic.dtype)"});
  };
  if (device.is_cpu()) refuse("a CPU");
  if (!supports_fp8(device))
    refuse(fmt::format("compute capability {}", compute_capability(device)));
  const std::string reason = check_fp8_product(device);
  if (!reason.empty())
    refuse(fmt::format("a device that fails the self-check of 8-bit products: {}", reason));
}

// LibTorch has no attention kernel for bfloat16 on GPUs before Ampere.
void require_bfloat16(at::Device device) {
  if (supports_bfloat16(device)) return;
  throw Error({.code = "device.bfloat16",
               .what = "this device has no bfloat16 arithmetic",
               .where = device_description(device),
               .expected = "an NVIDIA GPU of compute capability 8.0 or above",
               .found = "compute capability " + compute_capability(device),
               .hint = "use float16 or float32"});
}

void note_fp8(const Fp8Counts& products, Notes& notes) {
  notes.push_back(
      {LogLevel::kDebug, fmt::format("fp8: {} in 8-bit floats",
                                     format_count(products.quantized, "product", "products"))});
  if (products.kept == 0) return;
  notes.push_back(
      {LogLevel::kWarning,
       fmt::format(
           "fp8: {} of {} in bfloat16: a width is no multiple of 16", products.kept,
           format_count(products.quantized + products.kept, "product stays", "products stay"))});
}

LoadedTransformer load_once(const ModelDirectory& directory, const EffectiveResult& effective,
                            const EncoderOptions& options, const Launches& launches) {
  const OpenedDevice opened = open_device(options.hardware);
  options.alive();
  const at::Device device = opened.device;
  if (effective.dtype == ComputeType::kInt8) require_int8(device);
  const ProductFormat format = format_of(effective.dtype, effective.float32_matmul_precision);
  Notes notes;
  if (!opened.warning.empty()) notes.push_back({LogLevel::kWarning, opened.warning});
  const bool fp8 = format == ProductFormat::kFp8;
  if (fp8) {
    require_fp8(device);
  } else if (compute_type(format) == at::kBFloat16) {
    require_bfloat16(device);
  }
  if (device.is_cuda()) open_kernels(device, effective.dtype, format, notes);
  options.alive();

  const std::string config_path = directory.transformer_path + "/config.json";
  const Json config = parse_json(directory.config_json, {}, config_path, "model.config");
  const JsonFields fields(config, config_path, "model.config");
  Weights weights(directory.tensors, *directory.opened,
                  {.dtype = compute_type(format),
                   .origin = directory.transformer_path,
                   .alive = options.alive});
  auto trace = std::make_unique<ProductTrace>();
  const ProductOptions products = {.format = format, .launches = launches, .trace = trace.get()};
  Fp8Counts fp8_counts;
  auto model = load_model(directory.model_type, {.config = fields,
                                                 .document = config,
                                                 .weights = weights,
                                                 .device = device,
                                                 .products = products,
                                                 .fp8 = fp8 ? &fp8_counts : nullptr,
                                                 .max_positions = effective.max_length,
                                                 .causal = effective.causal});
  if (fp8) note_fp8(fp8_counts, notes);
  EmbeddingHead head(effective, *directory.opened, device, products);
  options.alive();
  return {.transformer = {.trace = std::move(trace),
                          .model = std::move(model),
                          .head = std::move(head),
                          .device = device,
                          .format = format,
                          .effective = effective,
                          .vocab_size = directory.vocab_size},
          .notes = std::move(notes)};
}

// Loads the model. If a matrix product gives equal rows different bits, loads the model again with
// smaller launches, until no product does.
LoadedTransformer load_with_equal_rows(const ModelDirectory& directory,
                                       const EffectiveResult& effective,
                                       const EncoderOptions& options) {
  Launches launches = {.rows = effective.launch_tokens};
  Notes notes;
  for (;;) {
    LoadedTransformer loaded = load_once(directory, effective, options, launches);
    const at::Device device = loaded.transformer.device;
    const std::optional<TracedProduct> unequal =
        device.is_cuda() ? find_unequal_rows(loaded.transformer) : std::nullopt;
    options.alive();
    if (!unequal) {
      loaded.notes.insert(loaded.notes.end(), notes.begin(), notes.end());
      return loaded;
    }
    launches = smaller_launches(launches, *unequal, device);
    notes = {{LogLevel::kWarning,
              fmt::format("CUDA: matrix products have smaller launches ({}), which is "
                          "slower, because larger ones give equal rows unequal bits on "
                          "this device",
                          describe(launches))}};
  }
}

}  // namespace

LoadedTransformer load_transformer(const ModelDirectory& directory,
                                   const EffectiveResult& effective,
                                   const EncoderOptions& options) {
  constexpr int kMostLoads = 3;
  OpenedFiles& files = *directory.opened;
  for (int load = 0; load < kMostLoads; ++load) {
    const std::vector<FileKey> before = files.check_weights();
    options.alive();
    try {
      LoadedTransformer loaded = load_with_equal_rows(directory, effective, options);
      // The content is the same, but the file key is not: a file was touched or replaced, or it was
      // changed and changed back while it was read. The tensors may have the changed bytes, so they
      // are loaded again.
      if (files.check_weights() == before) return loaded;
    } catch (const Error&) {
      files.check_weights();  // throws "model.changed" if a changed file is the cause
      throw;
    }
  }
  throw Error({.code = "model.changed",
               .what = "the weights were written to each time they were loaded",
               .where = directory.path,
               .expected = "files that nothing writes to",
               .found = fmt::format("other time stamps after {} loads", kMostLoads),
               .hint = "wait until the model's download or copy has finished"});
}

}  // namespace encode
