// Ready answers for usual cards and models: docs/gpu-presets.md.
#pragma once

#include <string>

namespace encode {

// Returns the page. The figures follow from the memory model alone, so the page is the same on
// every machine. tests/plan/presets_test.cc compares it with the file in docs, and writes the file
// if ENCODE_REFRESH=1.
std::string gpu_presets_page();

}  // namespace encode
