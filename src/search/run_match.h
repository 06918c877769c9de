// Finds the options of the run that made a matrix, and proves that a given model and given texts
// are the ones that the run used. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/text.h"

#include "run_plan/plan_steps.h"
#include "store/matrix/matrix.h"

namespace encode {

// Throws Error kConfig "search.kind" for a combined matrix and for token embeddings, and kData
// "search.empty" for a matrix without rows.
void require_searchable(const Matrix& matrix);
// Makes the Error "search.kind" for a combined matrix of these streams or files.
Error combined_error(const std::string& path, const std::vector<std::string>& parts);

// Returns the options with which `model` gives the fingerprint of the matrix, apart from its input.
// The result has no model. If no options give this fingerprint, throws Error kConfig "search.model"
// that names the differences: the model has other files, or another version of encode made the
// matrix. Throws what recorded_options() throws.
ResultOptions options_of_run(const Matrix& matrix, const OpenedModel& model);

// The texts of a matrix. They were read and hashed again.
struct ScannedTextsOfRun {
  InputOptions options;
  InputScan scan;
};

// Reads the files once and proves that the matrix was made of their rows. `paths` are as in
// SearchTarget::texts. `result` comes from options_of_run(). Throws Error kData "search.texts" if
// the rows differ, or if neither `paths` nor the manifest names a file, and what scan_texts()
// throws.
ScannedTextsOfRun texts_of_run(const Matrix& matrix, const OpenedModel& model,
                               const ResultOptions& result, const std::vector<std::string>& paths);

}  // namespace encode
