#include "base/process_limits.h"

#include <algorithm>
#include <sys/resource.h>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

// A run overflows a stack of 64 KiB and does not overflow one of 128 KiB.
constexpr int64_t kLeastStackBytes = 256 << 10;

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

}  // namespace encode
