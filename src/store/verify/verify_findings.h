// Collects the findings of an audit about one matrix.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "store/verify/verify.h"

namespace encode {

// What a check has expected and found, as phrases for people.
struct Compared {
  std::string expected;
  std::string found;
};

// Returns true if an error describes the content of a file. The error then becomes a finding. Any
// other error, for example about permissions, ends the audit.
bool tells_about_the_file(const Error& error);

// Adds findings about one matrix to a list, which must outlive this object. Not thread-safe.
class Findings {
 public:
  Findings(std::string matrix, std::vector<Finding>& all) : matrix_(std::move(matrix)), all_(all) {}

  // Adds a finding with the status kOk if `good`, else kFailed. A good finding has no detail.
  void check(const std::string& name, bool good, const Compared& compared,
             const std::string& detail = "");
  void warn(const std::string& name, const std::string& expected, const std::string& found,
            const std::string& detail);
  // Compares the fingerprint of `found`, which was read from the file `where`, with `wanted`, the
  // fingerprint of the config. If they have different versions, they cannot be compared, and the
  // finding is a warning.
  void check_fingerprint(const std::string& name, const StreamIdentity& found,
                         const std::string& wanted, const std::string& where);

 private:
  std::string matrix_;
  std::vector<Finding>& all_;
};

}  // namespace encode
