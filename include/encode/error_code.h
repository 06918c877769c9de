// The name of a kind of error, such as "model.shape". Immutable, so any thread may use it. Throws
// no Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "encode/error_codes.h"
#include "encode/exit_code.h"

namespace encode {

// A name of kErrorCodes, or none. A literal becomes an ErrorCode when it is compiled, so another
// name does not compile:
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
  // Returns the exit code of an error that states none itself: the default of the table in
  // base/error_table.cc, or kInternal if the table has none.
  ExitCode exit_code() const;
  // Returns true if the name begins with `group` and a dot.
  bool in_group(std::string_view group) const;
  explicit operator bool() const { return index_ != kNone; }

  friend bool operator==(ErrorCode, ErrorCode) = default;

 private:
  static constexpr uint16_t kNone = UINT16_MAX;

  explicit constexpr ErrorCode(uint16_t index) : index_(index) {}

  static constexpr uint16_t index_of(std::string_view name) {
    for (size_t index = 0; index < kErrorCodes.size(); ++index) {
      if (kErrorCodes[index] == name) return static_cast<uint16_t>(index);
    }
    throw "this code is not in error_codes.h";  // in a constant expression, this does not compile
  }

  uint16_t index_ = kNone;  // in kErrorCodes
};

}  // namespace encode
