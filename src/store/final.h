// Publishes a final and the files beside it in the only order that is safe.
#pragma once

#include <string>

#include "encode/store.h"

#include "store/ledger.h"
#include "store/matrix_file.h"
#include "store/offsets.h"

namespace encode {

// Deletes the temporary files that crashed writers of a final left beside it. The process must hold
// the CacheLock.
void remove_final_temp_files(const std::string& matrix_path);

// The files beside a final, apart from its manifest.
struct BesideFinal {
  LedgerWriter* ledger = nullptr;    // null for a combined matrix, which has no ledger
  OffsetsWriter* offsets = nullptr;  // null unless the matrix has token embeddings
  std::string ranges_bytes = "";     // "" for a type without ranges
};

// Deletes an older manifest, ranges file and offsets file. Then publishes, in this order: the
// ranges, the matrix, the ledger, the offsets, and the manifest. A manifest therefore never stands
// beside a matrix that it does not describe. Fills in the manifest's sizes, hashes and seals.
void publish_final(NpyWriter& writer, Manifest manifest, const BesideFinal& beside);

}  // namespace encode
