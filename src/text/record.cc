#include "text/record.h"

#include <fmt/format.h>
#include <utility>

namespace encode {

bool is_absent(const RowProblem& problem) {
  return problem.code == "jsonl.missing" || problem.code == "jsonl.type" ||
         problem.code == "arrow.null";
}

Error record_error(const Record& record, const std::string& path, std::string hint) {
  const RowProblem& problem = record.problem;
  return Error(
      {.code = problem.code,
       .exit_code = ExitCode::kData,
       .what = problem.what,
       .where = problem.place.empty() ? fmt::format("{}:{}", path, record.line) : problem.place,
       .expected = problem.expected,
       .found = problem.found,
       .hint = std::move(hint)});
}

RowProblem too_long_problem(int64_t limit_bytes) {
  return {.code = "text.too_long",
          .what = "the row is too long",
          .expected = fmt::format("at most {} bytes", limit_bytes),
          .found = fmt::format("more than {} bytes", limit_bytes)};
}

}  // namespace encode
