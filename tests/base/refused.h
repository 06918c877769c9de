// A function that returns the error of a call, for assertions.
#pragma once

#include <string>

#include "encode/error.h"

namespace encode::testing {

// The detail of the Error that `call` throws. The code is "(nothing thrown)" if it throws none.
template <typename Call>
ErrorDetail refused(const Call& call) {
  ErrorDetail detail;
  detail.code = "(nothing thrown)";
  try {
    call();
  } catch (const Error& error) {
    detail = error.detail();
  }
  return detail;
}

}  // namespace encode::testing
