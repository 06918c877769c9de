// Publishing finals: the one order in which a matrix and its manifest appear.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/matrix_file.h"

namespace encode {

// Deletes what crashed writers of a final left beside it.
void remove_final_temp_files(const std::string& matrix_path);

// Withdraws an older manifest, publishes the matrix, then its manifest: at no moment stands a
// manifest beside a matrix that it does not describe. Fills in file_bytes and xxh3_128.
void publish_final(NpyWriter& writer, const std::string& matrix_path, Manifest manifest);

}  // namespace encode
