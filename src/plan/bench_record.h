// Reads the speed of a device from a record of `encode bench --json`. Any thread may call it.
#pragma once

#include <string>

namespace encode {

struct BenchSpeed {
  double tokens_per_second = 0;
  std::string origin = {};  // "encode bench on NVIDIA H100 80GB HBM3"; text from a file, escaped
};

// Returns the median speed of encoding alone with this dtype ("bfloat16"), without the starts of
// the runs. Throws Error kConfig "plan.speed" for another file, kData "plan.speed" if the record
// has no such speed, and what read_file() throws.
BenchSpeed read_bench_speed(const std::string& path, const std::string& dtype);

}  // namespace encode
