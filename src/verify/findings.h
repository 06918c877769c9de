// Collects what an audit finds about one matrix.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encode/store.h"

#include "verify/verify.h"

namespace encode {

// What a check expects and what it found, as phrases for a reader.
struct Compared {
  std::string expected;
  std::string found;
};

// Adds findings about one matrix to a list, which must outlive this object. One thread.
class Findings {
 public:
  Findings(std::string matrix, std::vector<Finding>& all) : matrix_(std::move(matrix)), all_(all) {}

  // Adds a finding with the status kOk if `good`, else kFailed. A good finding has no detail.
  void check(const std::string& name, bool good, const Compared& compared,
             const std::string& detail = "");
  void warn(const std::string& name, const std::string& expected, const std::string& found,
            const std::string& detail);
  // Compares the fingerprint of `found`, which was read from the file `where`, with `wanted`, the
  // fingerprint of the config. Fingerprints of two versions of encode cannot be compared, so they
  // give a warning.
  void check_fingerprint(const std::string& name, const StreamIdentity& found,
                         const std::string& wanted, const std::string& where);

 private:
  std::string matrix_;
  std::vector<Finding>& all_;
};

}  // namespace encode
