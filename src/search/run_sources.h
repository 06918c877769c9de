// Finds what a search needs beside a matrix: the model and the texts of its run.
#pragma once

#include <string>

#include "store/matrix/matrix.h"
#include "search/search_target.h"

namespace encode {

// Throws Error kNoInput "search.unfinished" if the file does not exist yet and a run that makes it
// has begun. Does nothing about any other file.
void require_finished(const std::string& matrix_path);

// Takes the model of a target without one from the record of the run (run_of_output()). Throws
// Error kNoInput "search.sources", which says everything that is missing, if the record names no
// directory that exists, or if the target has no texts and a file that the manifest names does not
// exist. Throws what run_of_output() throws.
void find_sources(const Matrix& matrix, SearchTarget& target);

}  // namespace encode
