// What `encode bench` prints.
#pragma once

#include <string>

#include "base/json.h"
#include "bench/bench.h"

namespace encode {

std::string name_of(const BenchResult& result);  // "bfloat16", "bfloat16, batches of 4096"
std::string render(const BenchReport& report);   // several lines, the last one ended

// One object. Every figure of a result is {"median", "min", "max", "runs": [..]}; null where it is
// not known. docs/config.md describes them.
Json to_json(const BenchReport& report);

}  // namespace encode
