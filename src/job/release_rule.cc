#include "job/release_rule.h"

#include <algorithm>

namespace encode {

bool ReleaseRule::due(const DeviceMemory& memory) {
  const int64_t unused = memory.reserved_bytes - memory.allocated_bytes;
  if (measures_) working_set_ = std::max(working_set_, unused);
  measures_ = unused > working_set_ + std::max(working_set_ / kShare, kSlackBytes);
  return measures_;
}

}  // namespace encode
