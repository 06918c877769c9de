// Publishes a final matrix and the files beside it, in an order that is safe if the process is
// killed. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/store.h"

#include "store/final_file.h"
#include "store/ledger.h"
#include "store/offsets.h"
#include "store/passage_file.h"
#include "store/source_rows.h"

namespace encode {

// Deletes the temporary files that crashed writers of a final matrix left beside it. The process
// must hold the CacheLock. Throws what remove_temp_files() throws.
void remove_final_temp_files(const std::string& matrix_path);

// The writers of the files beside a final matrix, apart from its manifest. They must outlive the
// object.
struct BesideFinal {
  LedgerWriter* ledger = nullptr;    // not published if it is empty; null for a combined matrix
  OffsetsWriter* offsets = nullptr;  // null unless identity.has_offsets()
  SourceRowsWriter* source_rows = nullptr;  // null unless the stream has a filter
  LedgerWriter* set_aside = nullptr;        // null if no row was set aside
  PassagesWriter* passages = nullptr;       // null unless identity.passages
  std::string ranges_bytes = "";  // the content of the ranges file, or "" if there is none
};

// Deletes an older manifest and the files that an older matrix had beside it. Then publishes, in
// this order: the ranges, the matrix, the ledgers, the offsets, the source rows, the passages, and
// the manifest. So there is never a manifest beside a matrix that it does not describe. While it
// works, the file publishing_path() exists: after a kill it is the proof that a matrix without a
// manifest is from encode. Fills in the manifest's sizes, hashes and seals. Throws what
// CompleteFile, LedgerWriter, OffsetsWriter and SourceRowsWriter throw.
void publish_final(CompleteFile& writer, Manifest manifest, const BesideFinal& beside);

}  // namespace encode
