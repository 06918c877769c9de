// The lock whose token a run compares before each commit.
#pragma once

#include <string>

#include "encode/store.h"

namespace encode {

struct LockOfRun {
  std::string dir;    // of the file LOCK
  std::string token;  // CacheLock::token()

  // Throws what require_lock() throws. Any thread may call it.
  void require() const { require_lock(dir, token); }
};

}  // namespace encode
