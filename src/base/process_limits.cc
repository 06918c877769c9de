#include "base/process_limits.h"

#include <algorithm>
#include <fmt/format.h>
#include <sys/resource.h>
#include <utility>

#include "base/units.h"

namespace encode {
namespace {

// Twice as much as a run needs: a run overflows a stack of 64 KiB, but not a stack of 128 KiB.
constexpr int64_t kLeastStackBytes = 256 << 10;

// A run on one device needs 17.
constexpr int64_t kLeastOpenFiles = 32;

void require_stack() {
  const std::optional<int64_t> stack = process_limit(RLIMIT_STACK);
  if (!stack || *stack >= kLeastStackBytes) return;
  throw Error({.code = "os.stack",
               .what = "the stack of the process is too small",
               .where = "ulimit -s",
               .expected = "at least " + format_bytes(kLeastStackBytes),
               .found = format_bytes(*stack),
               .hint = "raise the limit: ulimit -s 8192"});
}

void require_open_files() {
  const std::optional<int64_t> files = process_limit(RLIMIT_NOFILE);
  if (!files || *files >= kLeastOpenFiles) return;
  throw Error({.code = "os.open_files",
               .what = "the process may open too few files",
               .where = "ulimit -n",
               .expected = fmt::format("at least {}", kLeastOpenFiles),
               .found = fmt::format("{}", *files),
               .hint = "raise the limit: ulimit -n 1024"});
}

}  // namespace

std::optional<int64_t> process_limit(int resource) {
  struct rlimit limit = {};
  const bool limited = ::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 &&
                       limit.rlim_cur != RLIM_INFINITY;
  if (!limited) return std::nullopt;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(INT64_MAX)));
}

bool memory_is_limited() {
  return process_limit(RLIMIT_AS).has_value() || process_limit(RLIMIT_DATA).has_value();
}

ErrorDetail out_of_limited_memory(std::string where, std::string expected, std::string found) {
  return {.code = "os.memory",
          .what = "out of host memory, which a limit of the process restricts",
          .where = std::move(where),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = "raise the limit (ulimit -v, ulimit -d); committed chunks are kept"};
}

void require_process_limits() {
  require_stack();
  require_open_files();
}

}  // namespace encode
