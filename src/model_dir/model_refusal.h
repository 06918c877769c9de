// Makes the Error for a model directory that encode refuses. The exit code is usually kConfig.
#pragma once

#include <string>
#include <utility>

#include "encode/error.h"

namespace encode {

struct Refusal {
  std::string code;
  std::string what;
  std::string where;
  std::string expected = {};
  std::string found = {};
  std::string hint = {};
  ExitCode exit_code = ExitCode::kConfig;
};

inline Error refusal(Refusal r) {
  return Error({.exit_code = r.exit_code,
                .code = std::move(r.code),
                .what = std::move(r.what),
                .where = std::move(r.where),
                .expected = std::move(r.expected),
                .found = std::move(r.found),
                .hint = std::move(r.hint)});
}

}  // namespace encode
