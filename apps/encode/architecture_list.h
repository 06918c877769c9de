// The supported architectures as data, for `encode models` and `encode reference`.
#pragma once

#include "base/json.h"

namespace encode {

// A list with an object for each architecture: model_type, layers, paper, and its models: examples,
// and bases from which other models are trained.
Json architectures_json();

}  // namespace encode
