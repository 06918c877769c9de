// StaticEmbedding of sentence-transformers (model2vec). The hidden state of a token is its row of a
// table, and pooling takes the mean of these rows.
#include <ATen/ops/embedding.h>

#include "models/architectures.h"
#include "models/module_loader.h"

namespace encode {
namespace {

class StaticEmbeddingModel : public Model {
 public:
  explicit StaticEmbeddingModel(at::Tensor table) : table_(std::move(table)) {}

  at::Tensor forward(const PackedInput& batch) const override {
    const at::Tensor& rows = batch.pooled_rows;
    return at::embedding(table_,
                         rows.defined() ? batch.input_ids.index_select(0, rows) : batch.input_ids);
  }

 private:
  at::Tensor table_;  // [vocab_size, hidden_size]
};

}  // namespace

std::unique_ptr<Model> load_static_embedding(const ModelSource& source) {
  constexpr const char* kName = "embedding.weight";
  constexpr const char* kModel2VecName = "embeddings";
  const Dim rows = {"tokens", source.sizes.vocab_size};
  const Dim width = {"dim", source.sizes.hidden_size};
  const WeightScope root(source.weights, "");
  const at::Tensor table = root.take(root.has(kName) ? kName : kModel2VecName, {rows, width});
  return std::make_unique<StaticEmbeddingModel>(table.to(source.device));
}

}  // namespace encode
