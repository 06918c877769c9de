#include "job/event_pipe.h"

#include <cerrno>
#include <unistd.h>

namespace encode {

void EventPipe::write_line(const std::string& line) {
  const std::lock_guard lock(mutex_);
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(fd_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ::_exit(static_cast<int>(ExitCode::kTempFail));
    done += static_cast<size_t>(n);
  }
}

}  // namespace encode
