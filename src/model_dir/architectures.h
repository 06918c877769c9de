// The transformer architectures that can be loaded: what is known of each without LibTorch. Their
// loaders are in models/registry.cc, one for every entry here.
#pragma once

#include <span>
#include <string_view>

namespace encode {

// What bounds the length of a text.
enum class Positions {
  kTable,              // learned absolute positions: as many tokens as max_position_embeddings
  kTableAfterPadding,  // the same, the first token's being pad_token_id + 1 (RoBERTa)
  kUnbounded,          // rotary or relative: longer texts can be computed
};

struct Architecture {
  std::string_view model_type;  // of config.json
  Positions positions;
  std::string_view block;     // what sets its layers apart, in a few words
  std::string_view source;    // the paper
  std::string_view examples;  // embedding models of this architecture
};

// Sorted by model_type.
std::span<const Architecture> architectures();

// nullptr where there is none of this name.
const Architecture* find_architecture(std::string_view model_type);

}  // namespace encode
