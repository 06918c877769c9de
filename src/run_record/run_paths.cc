#include "run_record/run_paths.h"

#include <filesystem>

#include "store/attempt_folders.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {

std::string combined_name(const CombineConfig& combine) {
  return combine.split.empty() ? "combined" : combine.split + "_combined";
}

std::vector<size_t> streams_of(const RunConfig& config, const CombineConfig& combine) {
  std::vector<size_t> found;
  for (const std::string& name : combine.streams) {
    for (size_t i = 0; i < config.streams.size(); ++i) {
      const StreamConfig& stream = config.streams[i];
      if (stream.split == combine.split && stream.stream == name) found.push_back(i);
    }
  }
  return found;
}

std::string work_path_of(const StoreOptions& store, const std::string& path) {
  if (store.shared_dir.empty()) return path;
  const std::filesystem::path attempt(store.cache_dir);
  const std::string name = std::filesystem::path(path).filename().string();
  if (store.output.empty()) return join_path(store.cache_dir, name);
  return join_path(join_path(attempts_dir_of_output(path), attempt.filename().string()), name);
}

std::string standard_path_of(const StoreOptions& store, const std::string& final_path,
                             bool filtered) {
  const FinalFormat& format = store.final_format;
  const bool same =
      !filtered && format.type == OutputType::kFloat32 && format.file == MatrixFormat::kNpy;
  return same ? final_path : final_path + ".float32.npy";
}

std::string final_path_of(const RunConfig& config, const std::string& stream_name) {
  return config.store.output.empty()
             ? final_path(config.store.matrix_dir(), stream_name, config.store.final_format.file)
             : config.store.output;
}

std::string log_path(const RunConfig& config) {
  return config.log.file.empty() ? RunFiles(config.store.cache_dir).log() : config.log.file;
}

}  // namespace encode
