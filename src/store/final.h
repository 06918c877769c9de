// Publishing finals: the one order in which a matrix and its manifest appear.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/ledger.h"
#include "store/matrix_file.h"
#include "store/offsets.h"

namespace encode {

// Deletes what crashed writers of a final left beside it.
void remove_final_temp_files(const std::string& matrix_path);

// What lies beside a final.
struct BesideFinal {
  LedgerWriter* ledger = nullptr;    // null: it has none
  OffsetsWriter* offsets = nullptr;  // null: no token embeddings
  std::string ranges_bytes = "";     // "": it has none
};

// Withdraws an older manifest, ranges and offsets file, publishes the ranges, the matrix, its
// ledger, its offsets and then its manifest: at no moment stands a manifest beside a matrix that it
// does not describe. Fills in file_bytes, the hashes and the ledger's seal.
void publish_final(NpyWriter& writer, Manifest manifest, const BesideFinal& beside);

}  // namespace encode
