#include "plan/bench_record.h"

#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr ErrorCode kSpeedCode = "plan.speed";
constexpr int64_t kMostRecordBytes = int64_t{1} << 20;
constexpr double kMostTokensPerSecond = 1e12;

// The speed of one dtype; 0 if the bench has not measured it.
double speed_of(const JsonFields& result) {
  const char* const key = "encoding_tokens_per_second";
  return result.has(key) ? result.fields(key).number("median", 0, kMostTokensPerSecond) : 0;
}

}  // namespace

BenchSpeed read_bench_speed(const std::string& path, const std::string& dtype) {
  const Json json = parse_json(read_file(path, kMostRecordBytes, "io.read"),
                               {.max_bytes = kMostRecordBytes, .max_depth = 8}, path, kSpeedCode);
  const JsonFields record(json, path, kSpeedCode);
  const std::string device = record.string("device");
  std::vector<std::string> found;
  for (const Json& one : record.array("results")) {
    const JsonFields result(one, path + ", results", kSpeedCode);
    found.push_back(result.string("dtype"));
    const double speed = speed_of(result);
    if (found.back() == dtype && speed > 0)
      return {.tokens_per_second = speed, .origin = "encode bench on " + preview(device)};
  }
  throw Error({.code = kSpeedCode,
               .exit_code = ExitCode::kData,
               .what = "the record has no speed with the dtype of the plan",
               .where = path,
               .expected = "a result with dtype " + dtype,
               .found = fmt::format("results with {}", fmt::join(found, ", ")),
               .hint = "make a record with encode bench --dtype " + dtype +
                       " --json, or give --tokens-per-second"});
}

}  // namespace encode
