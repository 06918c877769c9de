// What a call throws, as a value to make assertions about.
#pragma once

#include <string>

#include "encode/error.h"

namespace encode::testing {

// The detail of the Error that `call` throws; code "(nothing thrown)" where it throws none.
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
