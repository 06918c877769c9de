// Publishing finals: the one order in which a matrix and its manifest appear.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/ledger.h"
#include "store/matrix_file.h"

namespace encode {

// Deletes what crashed writers of a final left beside it.
void remove_final_temp_files(const std::string& matrix_path);

// Withdraws an older manifest, publishes the matrix, its ledger (null: it has none) and then its
// manifest: at no moment stands a manifest beside a matrix that it does not describe.
// `ranges_bytes` is the file beside it that comes first, or "" for none; one of an older final
// goes. Fills in file_bytes, the hashes and the ledger's seal.
void publish_final(NpyWriter& writer, LedgerWriter* ledger, Manifest manifest,
                   const std::string& ranges_bytes);

// Where the manifest names a ranges file: it is there, and its hash fits.
bool ranges_fit(const std::string& matrix_path, const Manifest& manifest);

}  // namespace encode
