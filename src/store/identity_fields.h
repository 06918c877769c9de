// The identity of a stream in the records of its chunks, in a plan of shards and in a list of
// parts.
#pragma once

#include "encode/store.h"

#include "base/json.h"

namespace encode {

// Reads the fields name, fingerprint, rows, dim, token_embeddings and passages. The other members
// have their defaults. Throws what JsonFields throws.
StreamIdentity identity_from(const JsonFields& fields);

}  // namespace encode
