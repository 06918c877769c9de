// A fiber runs a function on its own stack. The function can suspend itself and be resumed later.
#pragma once

#include <cstddef>
#include <memory>
#include <ucontext.h>

namespace encode::emulator {

// Fibers do not run in parallel, because resume() returns only when the fiber stops. Only one
// thread may use fibers. If a fiber is destroyed in the middle of `body`, no destructors of `body`
// run.
class Fiber {
 public:
  // `body` must not throw. If it has returned, the next resume() calls it again.
  explicit Fiber(void (*body)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();   // runs `body` until it calls suspend() or returns
  void suspend();  // stops the fiber; only `body` may call it

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
