#include "encode/error_code.h"

#include <vector>

namespace encode {
namespace {

struct Entry {
  std::string_view name;
  const ErrorFacts* row;
};

// Lists the codes of all rows, in the order that ErrorCode::index_ counts.
std::vector<Entry> list_codes() {
  std::vector<Entry> entries;
  for (const ErrorFacts& row : error_table::kRows) {
    for (std::string_view codes = row.codes; !codes.empty();)
      entries.push_back({take_code(codes), &row});
  }
  return entries;
}

const std::vector<Entry>& codes() {
  static const std::vector<Entry> kCodes = list_codes();
  return kCodes;
}

}  // namespace

std::optional<ErrorCode> ErrorCode::find(std::string_view name) {
  for (size_t i = 0; i < codes().size(); ++i) {
    if (codes()[i].name == name) return ErrorCode(static_cast<uint16_t>(i));
  }
  return std::nullopt;
}

std::string_view ErrorCode::name() const { return *this ? codes()[index_].name : ""; }

ExitCode ErrorCode::exit_code() const {
  const ExitCode usual = *this ? codes()[index_].row->exits.front() : ExitCode::kOk;
  return usual == ExitCode::kOk ? ExitCode::kInternal : usual;
}

bool ErrorCode::in_group(std::string_view group) const {
  return name().starts_with(group) && name().substr(group.size()).starts_with('.');
}

}  // namespace encode
