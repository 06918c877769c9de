#include "supervisor/worker/oom_watch.h"

#include <csignal>
#include <fmt/format.h>

#include "base/host.h"
#include "base/units.h"

namespace encode {

std::optional<ErrorDetail> OomWatch::cause(const ExitStatus& status) const {
  if (status.signal != SIGKILL || !before_) return std::nullopt;
  const std::optional<OomKills> after = read_();
  const bool comparable = after && after->source == before_->source;
  if (!comparable || after->count <= before_->count) return std::nullopt;
  return ErrorDetail{
      .code = kOomKill,
      .exit_code = ExitCode::kTempFail,
      .what = after->whole_machine
                  ? "encode-worker was killed, probably by the kernel for lack of host memory"
                  : "the kernel killed encode-worker for lack of host memory",
      .where = after->source,
      .expected = fmt::format("a worker within the memory limit of {}",
                              format_bytes(host_memory().limit_bytes)),
      .found = fmt::format("the worker had {}; the kernel's count of killed processes grew from "
                           "{} to {}",
                           format_bytes(status.peak_resident_bytes), before_->count, after->count),
      .hint =
          "give the job more host memory, or read less ahead (--set "
          "hardware.prefetch_bytes=BYTES); "
          "the next worker process reads ahead half as much"};
}

bool WindowShare::halve_after(ErrorCode code) {
  constexpr double kLeast = 1.0 / 64;
  if (code != kOomKill || share_ <= kLeast) return false;
  share_ /= 2;
  return true;
}

}  // namespace encode
