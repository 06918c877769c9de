// BERT's shape (Devlin et al. 2019): embeddings, then post-norm layers one after the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/bert_embeddings.h"
#include "models/layers.h"
#include "models/model.h"
#include "nn/layers/relative_positions.h"

namespace encode {

// What an architecture calls the parts of a layer, below the layer's scope.
struct PostNormNames {
  const char* query;
  const char* key;
  const char* value;
  const char* attention_out;
  const char* attention_norm;
  const char* mlp_up;
  const char* mlp_down;
  const char* mlp_norm;
};

// A layer with a plain feed-forward of the config's activation, biases everywhere.
PostNormLayer load_post_norm_layer(const ModuleLoader& layer, const EncoderConfig& config,
                                   const PostNormNames& names);
// All of them: <prefix>0, <prefix>1, ...
std::vector<PostNormLayer> load_post_norm_layers(const ModuleLoader& root,
                                                 const std::string& prefix,
                                                 const EncoderConfig& config,
                                                 const PostNormNames& names);

class PostNormEncoder : public Model {
 public:
  struct Parts {
    BertEmbeddings embeddings;
    std::optional<Linear> projection = {};  // where the embeddings are narrower than the layers
    std::optional<RelativePositions> relative = {};  // one for all layers
    std::vector<PostNormLayer> layers;
  };

  explicit PostNormEncoder(Parts parts) : parts_(std::move(parts)) {}

  at::Tensor forward(const PackedInput& batch) const override;

 private:
  Parts parts_;
};

}  // namespace encode
