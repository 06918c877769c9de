// The hints of errors that end a run of a shard.
#pragma once

#include "encode/error.h"

namespace encode {

// Replaces a hint that names --fresh, which a shard does not have: another content, or other
// options, need a plan of their own. Any thread may call it. Throws no Error.
void give_hint_for_shard(ErrorDetail& detail);

}  // namespace encode
