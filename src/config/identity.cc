#include "config/identity.h"

#include <optional>

#include "base/input_format.h"
#include "base/names.h"

namespace encode {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

// Structured bindings name every field, so that a new one does not compile until it is decided
// whether it counts.
Json input_identity(const InputOptions& options, const InputScan& scan) {
  const auto& [path, field, format, bad_row, empty_row, utf8, max_row_bytes, limit_rows] = options;
  const InputFormat effective = input_format(options);
  return {{"field", field},
          {"format", name_of(kTextFormats, effective.format)},
          {"compression", effective.compression},
          {"bad_row", name_of(kBadRowPolicies, bad_row)},
          {"empty_row", name_of(kEmptyRowPolicies, empty_row)},
          {"utf8", name_of(kUtf8Policies, utf8)},
          {"max_row_bytes", max_row_bytes},
          {"limit_rows", limit_rows},
          {"file_bytes", scan.file_bytes},
          {"sha256", scan.sha256}};
}

Json result_identity(const ResultOptions& options) {
  const auto& [model, revision, pooling, normalize, truncate_dim, max_length, prompt, prompt_name,
               causal, dtype, float32_matmul_precision] = options;
  return {{"pooling", pooling ? Json(std::string(to_string(*pooling))) : Json()},
          {"normalize", or_null(normalize)},
          {"truncate_dim", or_null(truncate_dim)},
          {"max_length", or_null(max_length)},
          {"prompt", or_null(prompt)},
          {"prompt_name", or_null(prompt_name)},
          {"causal", or_null(causal)},
          {"dtype", std::string(to_string(dtype))},
          {"float32_matmul_precision", std::string(to_string(float32_matmul_precision))}};
}

}  // namespace encode
