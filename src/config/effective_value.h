// The value of a key with its source, while a config is resolved. Any thread may call the
// functions.
#pragma once

#include <string>

#include "encode/error.h"

#include "config/value.h"

namespace encode {

// The sources of a value. A later source overrides an earlier one.
enum class Layer { kDefault, kAllStreams, kSharedStream, kSplitStream, kFlag };

// The value of a key, and its source.
struct Effective {
  Value value;
  std::string origin = "default";
  Layer layer = Layer::kDefault;
  std::string source = {};  // as Setting::source

  ExitCode exit_code() const {
    return layer == Layer::kFlag ? ExitCode::kUsage : ExitCode::kConfig;
  }
};

struct NamedValue {
  const char* name;
  Effective& effective;
};

// Two keys that exclude each other. If both are given, the value from the stronger layer is kept,
// and the other one becomes `none`. Throws Error "config.conflict" if both are from one layer.
void settle(const NamedValue& one, const NamedValue& two, const Value& none);

}  // namespace encode
