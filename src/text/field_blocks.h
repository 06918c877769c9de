// The fields of the rows of a shard. A machine that encodes a shard reads only its own rows of an
// input, so it cannot compare the hash of a whole file, as ScannedFields does. It compares the
// hashes of blocks of fields instead, which the plan of the shards has.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "encode/text.h"

namespace encode {

// For each block of a scan (InputScan::Checkpoint), the hash of the fields of its rows.
using FieldBlocks = std::vector<std::array<std::byte, 16>>;

// Reads the fields of all rows of an input. Throws what ScannedFields throws. Any thread may call
// it.
FieldBlocks hash_fields(const InputOptions& options, const InputScan& scan,
                        const std::vector<std::string>& fields);

// What a shard reads of an input.
struct FieldsOfRows {
  RowRange rows;
  const InputScan& scan;      // of the blocks with these rows; see scan_of_rows()
  const FieldBlocks& blocks;  // the hashes of these blocks; not used if there are no fields
};
// Opens an input for reading the fields of these rows. Reads no other blocks, as far as the format
// allows this: a compressed file is decompressed from its beginning. next() throws Error kIoError
// "text.changed" after a block whose fields do not have the hash, and finish() for the last block.
// The scan and the hashes must outlive the reader.
std::unique_ptr<ScannedFields> open_fields_of_rows(const InputOptions& options,
                                                   const FieldsOfRows& wanted,
                                                   const std::vector<std::string>& fields);

}  // namespace encode
