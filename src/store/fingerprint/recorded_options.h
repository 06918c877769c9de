// The options of a run, read back from its fingerprint.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

struct RecordedOptions {
  InputOptions input;  // without the paths, which a fingerprint does not have
  // Without the model and the revision. `normalize` is nullopt, and so is `pooling` if there are
  // several modes: a fingerprint does not say whether the options or the model directory gave them.
  // Every other field has the value that was in force.
  ResultOptions result;
};

// Throws Error kData "store.damaged" if the text is not a fingerprint of Fingerprint::kVersion,
// for example that of a combined matrix.
RecordedOptions recorded_options(const std::string& text);

}  // namespace encode
