#include "encode/types.h"

#include <array>
#include <utility>

#include "encode/error.h"

namespace encode {
namespace {

template <typename Value>
using Names = std::pair<std::string_view, Value>;

// The first name of each value is the one that is printed.
constexpr std::array<Names<MatmulPrecision>, 2> kMatmulPrecisions = {
    {{"highest", MatmulPrecision::kHighest}, {"high", MatmulPrecision::kHigh}}};
constexpr std::array<Names<ComputeType>, 6> kComputeTypes = {{{"float32", ComputeType::kFloat32},
                                                              {"bfloat16", ComputeType::kBFloat16},
                                                              {"float16", ComputeType::kFloat16},
                                                              {"fp32", ComputeType::kFloat32},
                                                              {"bf16", ComputeType::kBFloat16},
                                                              {"fp16", ComputeType::kFloat16}}};

constexpr std::array<Names<PoolingMode>, 8> kPoolingModes = {
    {{"cls", PoolingMode::kCls},
     {"mean", PoolingMode::kMean},
     {"max", PoolingMode::kMax},
     {"lasttoken", PoolingMode::kLastToken},
     {"weightedmean", PoolingMode::kWeightedMean},
     {"mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
     {"last", PoolingMode::kLastToken},
     {"mean_sqrt_len", PoolingMode::kMeanSqrtLen}}};

template <typename Table, typename Value>
std::string_view name_of(const Table& table, Value value) {
  for (const auto& [name, candidate] : table) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <typename Table>
auto parse(const Table& table, std::string_view name, std::string_view kind,
           const std::string& where) {
  std::string valid;
  for (const auto& [candidate, value] : table) {
    if (candidate == name) return value;
    if (!valid.empty()) valid += ", ";
    valid += candidate;
  }
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "config.value",
               .what = "unknown " + std::string(kind),
               .where = where,
               .expected = "one of: " + valid,
               .found = "'" + std::string(name.substr(0, 80)) + "'",
               .hint = ""});
}

}  // namespace

std::string_view to_string(MatmulPrecision precision) {
  return name_of(kMatmulPrecisions, precision);
}
std::string_view to_string(ComputeType type) { return name_of(kComputeTypes, type); }
std::string_view to_string(PoolingMode mode) { return name_of(kPoolingModes, mode); }

MatmulPrecision parse_matmul_precision(std::string_view name, const std::string& where) {
  return parse(kMatmulPrecisions, name, "float32_matmul_precision", where);
}

ComputeType parse_compute_type(std::string_view name, const std::string& where) {
  return parse(kComputeTypes, name, "dtype", where);
}
PoolingMode parse_pooling_mode(std::string_view name, const std::string& where) {
  return parse(kPoolingModes, name, "pooling mode", where);
}

}  // namespace encode
