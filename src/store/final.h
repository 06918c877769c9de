// Publishes a final (the complete matrix of a stream) and the files beside it, in an order that is
// safe if the process is killed.
#pragma once

#include <string>

#include "encode/store.h"

#include "store/final_file.h"
#include "store/ledger.h"
#include "store/offsets.h"

namespace encode {

// Deletes the temporary files that crashed writers of a final left beside it. The process must hold
// the CacheLock. Throws what remove_temp_files() throws.
void remove_final_temp_files(const std::string& matrix_path);

// The files beside a final, apart from its manifest. Borrows the writers.
struct BesideFinal {
  LedgerWriter* ledger = nullptr;     // null for a combined matrix, which has no ledger
  OffsetsWriter* offsets = nullptr;   // null unless the matrix has token embeddings
  LedgerWriter* set_aside = nullptr;  // null if no row was set aside
  std::string ranges_bytes = "";      // the content of the ranges file, or "" if there is none
};

// Deletes an older manifest, ranges file, offsets file and ledger of rows set aside. Then
// publishes, in this order: the ranges, the matrix, the ledgers, the offsets, and the manifest. A
// manifest therefore never stands beside a matrix that it does not describe. While it works, the
// file publishing_path() exists: after a kill it is the proof that a matrix without a manifest is
// from encode. Fills in the manifest's sizes, hashes and seals. Throws what FinalFile, LedgerWriter
// and OffsetsWriter throw.
void publish_final(FinalFile& writer, Manifest manifest, const BesideFinal& beside);

}  // namespace encode
