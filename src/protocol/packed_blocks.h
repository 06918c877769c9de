// The blocks of rows of a scan as one short text. A billion rows have a million blocks, and every
// worker that starts reads them from its job. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "encode/text.h"

namespace encode {

// Returns base64 of the blocks, one after another: for each of the numbers of a checkpoint, in the
// order of the struct, the difference to the checkpoint before as a varint (LEB128, modulo 2^64);
// then the hash. A block takes about 35 characters. JsonWriter finds this function by
// argument-dependent lookup.
std::string packed(const std::vector<InputScan::Checkpoint>& blocks);

// Sets `blocks` and returns true, or returns false for a text that packed() does not write.
bool unpack(std::string_view text, std::vector<InputScan::Checkpoint>& blocks);

}  // namespace encode
