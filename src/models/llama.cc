// Llama and the models that change little in it: Mistral, Qwen2, Qwen3, EuroBERT.
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

constexpr int64_t kLongestWindow = 1 << 24;

// Qwen: use_sliding_window turns it on, for the layers from max_window_layers on.
void read_qwen_windows(const JsonFields& json, DecoderConfig& config) {
  if (!json.boolean_or("use_sliding_window", false)) return;
  config.window = config.window_of(json.integer("sliding_window", 1, kLongestWindow));
  const int64_t first = json.integer_or("max_window_layers", 28, 0, 256);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i)
    config.sliding.push_back(is_sliding(json, i, i >= first));
}

}  // namespace

std::unique_ptr<Model> load_llama(const ModelSource& source) {
  DecoderConfig config(source);
  config.read_biases(source.config);
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_mistral(const ModelSource& source) {
  DecoderConfig config(source);
  if (source.config.has("sliding_window")) {
    config.window = config.window_of(source.config.integer("sliding_window", 1, kLongestWindow));
    config.sliding.assign(static_cast<size_t>(config.num_hidden_layers), true);
  }
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_qwen2(const ModelSource& source) {
  DecoderConfig config(source);
  config.qkv_bias = true;
  read_qwen_windows(source.config, config);
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_qwen3(const ModelSource& source) {
  DecoderConfig config(source, /*head_dim=*/128);
  config.read_biases(source.config);
  config.normalize_heads = true;
  read_qwen_windows(source.config, config);
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_eurobert(const ModelSource& source) {
  DecoderConfig config(source);
  config.read_biases(source.config);
  config.causal = source.causal.value_or(false);
  return load_decoder(source, config);
}

}  // namespace encode
