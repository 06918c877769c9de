// The paths of the files that a run writes, according to its config. Any thread may call these
// functions. They throw no Error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

std::string combined_name(const CombineConfig& combine);  // "train_combined"
// Returns the streams that a combined matrix has side by side, as indices into RunConfig::streams.
std::vector<size_t> streams_of(const RunConfig& config, const CombineConfig& combine);
// Returns the path of the final matrix of a stream.
std::string final_path_of(const RunConfig& config, const std::string& stream_name);
// Returns where the run makes the matrix that gets the path `final_path`: there, or in an attempt
// (store/attempt_folders.h) in the attempt's own directory.
std::string work_path_of(const StoreOptions& store, const std::string& final_path);
// Returns the path to which a worker writes its float32 rows in standard mode. This is the path of
// the final matrix if the final matrix is a .npy file of float32 and the stream is not `filtered`.
// Otherwise it is a file beside the final matrix, which is converted.
std::string standard_path_of(const StoreOptions& store, const std::string& final_path,
                             bool filtered);
// Returns the path of the log file.
std::string log_path(const RunConfig& config);

}  // namespace encode
