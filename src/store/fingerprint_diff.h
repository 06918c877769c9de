// What makes two identities different, in words.
#pragma once

#include <string>

#include "encode/store.h"

namespace encode {

// One line per field that differs, its path in dots: "model.sha256: cache has ab.., this run has
// cd..".
std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run);

}  // namespace encode
