// Checks of a stream's chunk folder, without changing anything in it.
#pragma once

#include <string>
#include <vector>

#include "verify/verify.h"

namespace encode {

// Collects findings of one matrix.
// What a check should find and what it found, in words.
struct Compared {
  std::string expected;
  std::string found;
};

class Findings {
 public:
  Findings(std::string matrix, std::vector<Finding>& all) : matrix_(std::move(matrix)), all_(all) {}

  // kOk where `good`, else kFailed; `detail` is kept for what is not good.
  void check(const std::string& name, bool good, const Compared& compared,
             const std::string& detail = "");
  void warn(const std::string& name, const std::string& expected, const std::string& found,
            const std::string& detail);

 private:
  std::string matrix_;
  std::vector<Finding>& all_;
};

// `final_is_complete`: an unfinished folder is then only a left-over. A folder that is not there is
// no finding.
void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings);

// Temp files of crashed writers in the cache directory itself.
void check_cache_dir(const std::string& cache_dir, Findings& findings);

}  // namespace encode
