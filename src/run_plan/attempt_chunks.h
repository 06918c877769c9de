// The chunks that a run in an attempt (store/attempt_folders.h) takes over. Not thread-safe.
#pragma once

#include <string>

#include "encode/config.h"

#include "run_record/run_log.h"

namespace encode {

// Gives the attempt whose options these are the committed chunks of a stream that earlier attempts
// and runs in the user's cache directory have, as hard links or copies; ChunkStore::open() compares
// their hashes. Does nothing for other runs, with StoreOptions::fresh, and if the attempt has a
// folder of chunks of this stream. Warns of an attempt that cannot be read, and leaves it out.
// Throws what adopt_chunks() throws.
void adopt_earlier_chunks(const StoreOptions& store, const std::string& stream, RunLog& log);

}  // namespace encode
