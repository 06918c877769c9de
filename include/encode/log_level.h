// How important a message of the worker is. Plain data.
#pragma once

namespace encode {

enum class LogLevel { kDebug, kInfo, kWarning };

}  // namespace encode
