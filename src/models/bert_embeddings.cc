#include "models/bert_embeddings.h"

#include <fmt/format.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

#include "encode/error.h"

#include "model_dir/limits.h"
#include "nn/cuda/cuda_kernels.h"

namespace encode {

at::Tensor Segments::of(const PackedInput& batch) const {
  if (!table_.defined()) return {};
  if (!batch.type_ids.defined()) return table_.select(0, 0);
  if (batch.max_type_id >= table_.size(0)) {
    throw Error({.code = "model.config",
                 .what = "the tokenizer gives a token type that the model does not have",
                 .where = origin_ + "/config.json: type_vocab_size",
                 .expected = fmt::format("more than {}, the token type", batch.max_type_id),
                 .found = fmt::to_string(table_.size(0)),
                 .hint = "check the type_id of the post-processor in tokenizer.json, and "
                         "model_input_names in tokenizer_config.json"});
  }
  return at::embedding(table_, batch.type_ids);
}

BertEmbeddings::BertEmbeddings(const ModuleLoader& embeddings, const EncoderConfig& config,
                               const BertEmbeddingsOptions& options)
    : words_(embeddings.table("word_embeddings", {"vocab_size", config.vocab_size}, options.width)),
      padding_token_(options.padding_token) {
  if (config.positions.table != PositionTable::kNone) {
    positions_ = embeddings.table("position_embeddings",
                                  {"max_position_embeddings", config.max_position_embeddings},
                                  options.width);
  }
  if (config.type_vocab_size > 0) {
    at::Tensor table = embeddings.table("token_type_embeddings",
                                        {"type_vocab_size", config.type_vocab_size}, options.width);
    if (options.task_types > 0) {
      table = table.add(embeddings
                            .table("task_type_embeddings",
                                   {"task_type_vocab_size", options.task_types}, options.width)
                            .select(0, 0));
    }
    segments_ = Segments(std::move(table), embeddings.origin());
  }
  if (options.norm)
    norm_ = embeddings.layer_norm("LayerNorm", options.width, config.layer_norm_eps);
}

at::Tensor BertEmbeddings::by_kernel(const PackedInput& batch,
                                     const at::Tensor& position_ids) const {
  if (!words_.device().is_cuda() || batch.type_ids.defined()) return {};
  CudaEmbedding call = {.words = words_,
                        .segment = segments_.of(batch),
                        .positions = positions_,
                        .ids = batch.input_ids,
                        .position_ids = position_ids};
  if (norm_) {
    call.weight = norm_->weight();
    call.bias = norm_->bias();
    call.eps = norm_->eps();
  }
  call.y = at::empty({batch.tokens(), words_.size(1)}, words_.options());
  return cuda_kernels().embed(call) ? call.y : at::Tensor();
}

at::Tensor BertEmbeddings::operator()(const PackedInput& batch) const {
  const at::Tensor position_ids = positions_.defined() && padding_token_
                                      ? positions_after_padding(batch, *padding_token_)
                                      : batch.position_ids;
  if (at::Tensor x = by_kernel(batch, position_ids); x.defined()) return x;
  // Adds in the same order as the Hugging Face implementation: words + segments, then positions.
  at::Tensor x = at::embedding(words_, batch.input_ids);
  if (segments_.defined()) x.add_(segments_.of(batch));
  if (positions_.defined()) x.add_(at::embedding(positions_, position_ids));
  return norm_ ? (*norm_)(x) : x;
}

int64_t padding_token_of(const JsonFields& config) {
  return config.integer_or("pad_token_id", 1, 0, kMaxVocabSize);
}

at::Tensor positions_after_padding(const PackedInput& batch, int64_t pad_token_id) {
  const at::Tensor counts = batch.input_ids.ne(pad_token_id).to(at::kLong);
  const at::Tensor through = counts.cumsum(0);
  const at::Tensor first =
      at::arange(batch.tokens(), batch.position_ids.options()).sub(batch.position_ids);
  const at::Tensor before_text = through.index_select(0, first).sub(counts.index_select(0, first));
  return through.sub(before_text).mul(counts).add(pad_token_id);
}

}  // namespace encode
