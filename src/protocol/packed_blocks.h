// Writes the blocks of rows of a scan (InputScan::checkpoints) as one short string, and reads it
// back. A billion rows have a million blocks, and every worker reads them from its job when it
// starts. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "encode/text.h"

namespace encode {

// Returns the blocks, one after another, in base64. A block has, for each number of a checkpoint in
// the order of the struct, the difference to the number of the checkpoint before, modulo 2^64 and
// as a varint (LEB128), and then the hash. It takes about 35 characters. JsonWriter finds this
// function by argument-dependent lookup.
std::string packed(const std::vector<InputScan::Checkpoint>& blocks);

// Replaces `blocks` and returns true. Returns false for a text that packed() cannot have written.
bool unpack(std::string_view text, std::vector<InputScan::Checkpoint>& blocks);

}  // namespace encode
