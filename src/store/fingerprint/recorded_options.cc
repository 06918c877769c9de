#include "store/fingerprint/recorded_options.h"

#include <limits>
#include <optional>

#include "encode/error.h"

#include "base/json.h"
#include "base/names.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

constexpr ErrorCode kDamaged = "store.damaged";
constexpr const char* kWhere = "fingerprint";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Returns the value for the name in a field. Throws if the table does not have the name.
template <typename Table>
auto named(const Table& table, const JsonFields& fields, const std::string& key) {
  const std::string name = fields.string(key);
  const auto value = find_value(table, name);
  // Another name of the same value is for configs only.
  if (!value || name_of(table, *value) != name)
    fields.refuse(key, "a name that encode writes", name);
  return *value;
}

InputOptions input_options(const JsonFields& fields) {
  InputOptions input;
  input.field = fields.string("field");
  input.format = named(kTextFormats, fields, "format");
  input.bad_row = named(kBadRowPolicies, fields, "bad_row");
  input.empty_row = named(kEmptyRowPolicies, fields, "empty_row");
  input.utf8 = named(kUtf8Policies, fields, "utf8");
  input.max_row_bytes = fields.integer("max_row_bytes", 1, kMost);
  input.limit_rows = fields.integer("limit_rows", 0, kMost);
  return input;
}

ResultOptions result_options(const JsonFields& fields) {
  ResultOptions result;
  const Json& pooling = fields.array("pooling");
  if (pooling.size() == 1 && pooling[0].is_string())
    result.pooling = parse_pooling_mode(pooling[0].get<std::string>(), kWhere);
  if (fields.has("truncate_dim")) result.truncate_dim = fields.integer("truncate_dim", 1, kMost);
  result.max_length = fields.integer("max_length", 1, kMost);
  result.prompt = fields.string("prompt");
  if (fields.has("causal")) result.causal = fields.boolean_or("causal", false);
  result.dtype = named(kComputeTypes, fields, "dtype");
  result.float32_matmul_precision = named(kMatmulPrecisions, fields, "float32_matmul_precision");
  if (fields.has("vector_precision"))
    result.vector_precision = named(kVectorPrecisions, fields, "vector_precision");
  if (fields.has("special_tokens"))
    result.special_tokens = named(kSpecialTokensRules, fields, "special_tokens");
  result.ignore_custom_code = fields.boolean_or("ignore_custom_code", false);
  return result;
}

}  // namespace

RecordedOptions recorded_options(const std::string& text) {
  try {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const JsonFields fields(json, kWhere, kDamaged);
    fields.integer("format", Fingerprint::kVersion, Fingerprint::kVersion);
    const std::string where = kWhere;
    return {.input = input_options(JsonFields(fields.object("input"), where + ", input", kDamaged)),
            .result =
                result_options(JsonFields(fields.object("result"), where + ", result", kDamaged))};
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    detail.exit_code = ExitCode::kData;
    detail.code = kDamaged;
    throw Error(std::move(detail));
  }
}

}  // namespace encode
