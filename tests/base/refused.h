// A function for assertions about the error that a call throws.
#pragma once

#include "encode/error.h"

namespace encode::testing {

// Returns the detail of the Error that `call` throws, or a detail without a code if it throws none.
template <typename Call>
ErrorDetail refused(const Call& call) {
  ErrorDetail detail;
  try {
    call();
  } catch (const Error& error) {
    detail = error.detail();
  }
  return detail;
}

}  // namespace encode::testing
