// What `encode search` searches: the final matrix of a stream of a config, or a matrix file, with
// the model and the texts of its run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "store/matrix/matrix.h"

namespace encode {

struct SearchTarget {
  std::string matrix_path;
  // See ResultOptions::model and ResultOptions::revision. If `model` is "", the record of the run
  // names the model.
  std::string model;
  std::optional<std::string> revision = {};
  // The files with the texts, as in InputOptions. If there are none, the manifest names them.
  std::vector<std::string> texts = {};
  HardwareOptions hardware = {};  // the query is encoded on the first of its devices
  int64_t threads = 0;            // see SpeedOptions::threads
  std::string hash_cache = {};    // see hash_model_files()
};

// Returns the target for a stream of a config: its matrix, or the list of the parts if its shards
// are merged. `name` is a stream ("tc"), a split and a stream ("train_tc") if several splits have
// the stream, or "" if the config has only one stream. Throws Error:
// - kUsage "search.stream" if there is no such stream, or if several streams have the name; the
//   error lists the streams,
// - kConfig "search.kind" if it is the name of a combined matrix,
// - kNoInput "search.unfinished" if the final matrix of the stream does not exist yet; the error
//   says how many rows are committed.
SearchTarget find_stream(const RunConfig& config, const std::string& name);

// Throws Error kNoInput "search.unfinished" if a run has begun to make this file and has not
// finished it. Does nothing for any other file.
void require_finished(const std::string& matrix_path);

// If the target has no model, takes the model from the record of the run (run_of_output()). If it
// has no texts, takes the files from the manifest (texts_of_output()). Throws Error kNoInput
// "search.sources", which says everything that is missing, if the record names no directory that
// exists, or if a file that the manifest names does not exist. Throws what run_of_output() throws.
void find_sources(const Matrix& matrix, SearchTarget& target);

}  // namespace encode
