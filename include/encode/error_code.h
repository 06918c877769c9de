// The name of a kind of error, such as "model.shape". Immutable, so any thread may use it. Throws
// no Error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "encode/error_table.h"
#include "encode/exit_code.h"

namespace encode {

// Removes the first code from the codes of a row, and returns it.
constexpr std::string_view take_code(std::string_view& codes) {
  const std::string_view first = codes.substr(0, codes.find(' '));
  codes.remove_prefix(std::min(codes.size(), first.size() + 1));
  return first;
}

// A code of the table of errors, or none. A literal becomes an ErrorCode when it is compiled, so a
// name that is not in the table does not compile:
//   throw Error({.code = "model.shape", .what = ...});
//   if (error.code == "device.memory") ...
class ErrorCode {
 public:
  constexpr ErrorCode() = default;       // no code; its name is ""
  consteval ErrorCode(const char* name)  // NOLINT(google-explicit-constructor): see above
      : index_(index_of(name)) {}

  // Finds the code that a file or another process names. Returns nullopt for other names.
  static std::optional<ErrorCode> find(std::string_view name);

  std::string_view name() const;
  // Returns the exit code of an error that states none itself: the default of the table, or
  // kInternal if the table has none.
  ExitCode exit_code() const;
  // Returns true if the name begins with `group` and a dot.
  bool in_group(std::string_view group) const;
  explicit operator bool() const { return index_ != kNone; }

  friend bool operator==(ErrorCode, ErrorCode) = default;

 private:
  static constexpr uint16_t kNone = UINT16_MAX;

  explicit constexpr ErrorCode(uint16_t index) : index_(index) {}

  static constexpr uint16_t index_of(std::string_view name) {
    uint16_t index = 0;
    for (const ErrorFacts& row : error_table::kRows) {
      for (std::string_view codes = row.codes; !codes.empty(); ++index) {
        if (take_code(codes) == name) return index;
      }
    }
    throw "this code is not in error_table.h";  // in a constant expression, this does not compile
  }

  uint16_t index_ = kNone;  // the position among the codes of all rows
};

}  // namespace encode
