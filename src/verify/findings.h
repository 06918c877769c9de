// What an audit has found about one matrix.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encode/store.h"

#include "verify/verify.h"

namespace encode {

// What a check should find and what it found, in words.
struct Compared {
  std::string expected;
  std::string found;
};

// Adds findings about one matrix to a list that it does not own. One thread.
class Findings {
 public:
  Findings(std::string matrix, std::vector<Finding>& all) : matrix_(std::move(matrix)), all_(all) {}

  // kOk when `good`, else kFailed; `detail` is kept for what is not good.
  void check(const std::string& name, bool good, const Compared& compared,
             const std::string& detail = "");
  void warn(const std::string& name, const std::string& expected, const std::string& found,
            const std::string& detail);
  // Is the fingerprint of `found`, which was read from `where`, the one of the config? One that
  // another version of encode wrote cannot be compared, and gives a warning.
  void check_fingerprint(const std::string& name, const StreamIdentity& found,
                         const std::string& wanted, const std::string& where);

 private:
  std::string matrix_;
  std::vector<Finding>& all_;
};

}  // namespace encode
