// A function with a stack of its own that can stop in the middle and go on later.
#pragma once

#include <cstddef>
#include <memory>
#include <ucontext.h>

namespace encode::emulator {

// Fibers do not run in parallel: resume() returns when the fiber stops. All calls come from one
// thread. A fiber that is destroyed before `body` has returned runs no destructors of `body`.
class Fiber {
 public:
  // `body` must not throw. When it has returned, the next resume() calls it again.
  explicit Fiber(void (*body)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();   // runs `body` until it calls suspend() or returns
  void suspend();  // only within `body`

 private:
  static void enter();

  void (*body_)();
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t own_ = {};
  ucontext_t resumer_ = {};
  const void* resumer_stack_ = nullptr;  // for AddressSanitizer
  size_t resumer_stack_bytes_ = 0;
};

}  // namespace encode::emulator
