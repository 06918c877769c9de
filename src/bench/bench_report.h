// Renders the report of `encode bench`. Any thread may call these functions. They throw no Error.
#pragma once

#include <string>

#include "base/json.h"
#include "bench/bench.h"

namespace encode {

std::string name_of(const BenchResult& result);  // "bfloat16", "bfloat16, batches of 4096"
std::string render(const BenchReport& report);   // several lines, each ends in '\n'

// Returns one object. Every figure of a result is {"median", "min", "max", "runs": [..]}, or null
// if it is not known. docs/config.md describes the figures.
Json to_json(const BenchReport& report);

}  // namespace encode
