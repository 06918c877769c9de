#include "encode/error_code.h"

#include <algorithm>
#include <vector>

#include "base/error_table.h"

namespace encode {
namespace {

// Returns the default exit code of each code, in the order of kErrorCodes.
std::vector<ExitCode> default_exits() {
  std::vector<ExitCode> exits;
  for (const ErrorFacts& row : error_table()) {
    for (std::string_view codes = row.codes; !codes.empty(); take_code(codes))
      exits.push_back(row.exits.front());
  }
  return exits;
}

}  // namespace

std::optional<ErrorCode> ErrorCode::find(std::string_view name) {
  const auto* const found = std::ranges::find(kErrorCodes, name);
  if (found == kErrorCodes.end()) return std::nullopt;
  return ErrorCode(static_cast<uint16_t>(found - kErrorCodes.begin()));
}

std::string_view ErrorCode::name() const { return *this ? kErrorCodes[index_] : ""; }

ExitCode ErrorCode::exit_code() const {
  static const std::vector<ExitCode> kExits = default_exits();
  const ExitCode usual = *this ? kExits[index_] : ExitCode::kOk;
  return usual == ExitCode::kOk ? ExitCode::kInternal : usual;
}

bool ErrorCode::in_group(std::string_view group) const {
  return name().starts_with(group) && name().substr(group.size()).starts_with('.');
}

}  // namespace encode
