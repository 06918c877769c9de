// Makes the Error for a model directory that encode refuses.
#pragma once

#include <string>
#include <utility>

#include "encode/error.h"

namespace encode {

struct Refusal {
  ErrorCode code;
  std::string what;
  std::string where;
  std::string expected = {};
  std::string found = {};
  std::string hint = {};
  ExitCode exit_code = code.exit_code();
};

inline Error refusal(Refusal r) {
  return Error({.code = r.code,
                .exit_code = r.exit_code,
                .what = std::move(r.what),
                .where = std::move(r.where),
                .expected = std::move(r.expected),
                .found = std::move(r.found),
                .hint = std::move(r.hint)});
}

}  // namespace encode
