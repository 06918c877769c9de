// The code of an Error.
#pragma once

#include <functional>
#include <string>

#include "encode/error.h"

namespace encode::testing {

// Returns ErrorDetail::code of the Error that the action throws, or "no error" if it throws none.
inline std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(error.detail().code.name());
  }
  return "no error";
}

}  // namespace encode::testing
