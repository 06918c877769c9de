// Facts about the architectures that encode can load, for the parts of the program without
// LibTorch. models/registry.cc has a loader for each entry.
#pragma once

#include <span>
#include <string_view>

#include "encode/error.h"

namespace encode {

// How the positions of an architecture limit the length of a text.
enum class Positions {
  kTable,              // learned positions: at most max_position_embeddings tokens
  kTableAfterPadding,  // the same, but positions count from pad_token_id + 1 (RoBERTa)
  kUnbounded,          // rotary or relative positions: no limit
};

struct Architecture {
  std::string_view model_type;  // of config.json
  Positions positions;
  std::string_view block;     // a layer of the architecture, in a few words
  std::string_view source;    // the paper
  std::string_view examples;  // embedding models of this architecture
};

// Returns all architectures, sorted by model_type. They live as long as the process, and any thread
// may read them.
std::span<const Architecture> architectures();

// Returns nullptr if there is no architecture of this name.
const Architecture* find_architecture(std::string_view model_type);

// Makes the Error kConfig "model.type" for a model_type that is not in the list.
Error unsupported_architecture(std::string_view model_type);

}  // namespace encode
