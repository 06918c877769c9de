// The Error of an action.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "encode/error.h"

namespace encode::testing {

// Returns the details of the Error that the action throws. The test fails if it throws none.
inline ErrorDetail error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.detail();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace encode::testing
