// Compares a combined matrix with its parts.
#pragma once

#include <string>

#include "encode/store.h"

#include "store/verify/verify_findings.h"

namespace encode {

// Checks that the columns of a combined matrix are bit for bit equal to the columns of its parts,
// which lie beside it. Does nothing for another matrix. Throws what verify_run() throws.
void check_combined(const std::string& path, const Manifest& manifest, Findings& findings);

}  // namespace encode
