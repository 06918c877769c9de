// Makes one final matrix of several that have its rows, one after the other. Any thread may call
// these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/convert_part.h"

namespace encode {

struct JoinedFinals {
  std::vector<std::string> parts;  // finished .npy matrices of one type, in the order of their rows
  StreamIdentity identity;         // of all rows
  std::string made_from = {};      // see Manifest::made_from
};

// Writes the rows of the parts, their ledgers, offsets and source rows, in bounded memory. Compares
// the hash of each part. The matrix has the bytes of one that was made in one run. Throws Error
// kData "store.damaged" if a part is not finished or is damaged, and what publish_final() and
// JoinedFile throw. Requires the CacheLock.
void join_finals(const JoinedFinals& joined, const std::string& matrix_path);

// The same for float32 parts, whose rows are converted as convert_part() does it.
void convert_parts(const JoinedFinals& joined, const std::string& matrix_path,
                   const Conversion& conversion);

}  // namespace encode
