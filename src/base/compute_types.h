// What follows from the type in which a model computes. A type that is missing in facts_of() does
// not compile. Any thread may call these functions.
#pragma once

#include <cstdint>

#include "encode/types.h"

namespace encode {

struct ComputeTypeFacts {
  // The bytes of a number: of an activation, of the table of token embeddings, of a bias.
  int64_t bytes = 0;
  // The type of everything that is not quantized. It is the type itself if that quantizes nothing.
  ComputeType exact = ComputeType::kFloat32;
  // The tile instructions of a CPU (AMX) compute products of this type.
  bool on_tiles = false;
};

constexpr ComputeTypeFacts facts_of(ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32:
      return {.bytes = 4, .exact = ComputeType::kFloat32};
    case ComputeType::kBFloat16:
      return {.bytes = 2, .exact = ComputeType::kBFloat16, .on_tiles = true};
    case ComputeType::kFloat16:
      return {.bytes = 2, .exact = ComputeType::kFloat16};
    case ComputeType::kInt8:
      return {.bytes = 4, .exact = ComputeType::kFloat32, .on_tiles = true};
    case ComputeType::kFp8:
      return {.bytes = 2, .exact = ComputeType::kBFloat16};
  }
  return {};
}

// Returns true if the matrix products have weights and inputs of 8 bits.
constexpr bool quantizes(ComputeType type) { return facts_of(type).exact != type; }

}  // namespace encode
