#include "fiber.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace encode::emulator {
namespace {

constexpr size_t kStackBytes = size_t{128} * 1024;

// The argument of enter(). It is a global variable because makecontext() cannot pass a pointer.
Fiber* entering = nullptr;

// before_switch() and after_switch() tell AddressSanitizer which stack is in use.
void before_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* stack,
                   [[maybe_unused]] size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}

void after_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** left_stack,
                  [[maybe_unused]] size_t* left_bytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack, left_stack, left_bytes);
#endif
}

}  // namespace

Fiber::Fiber(void (*body)())
    : body_(body), stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_.get();
  own_.uc_stack.ss_size = kStackBytes;
  makecontext(&own_, &Fiber::enter, 0);
}

void Fiber::enter() {
  Fiber& self = *entering;
  after_switch(nullptr, &self.resumer_stack_, &self.resumer_stack_bytes_);
  for (;;) {
    self.body_();
    self.suspend();
  }
}

void Fiber::resume() {
  entering = this;
  void* fake_stack = nullptr;
  before_switch(&fake_stack, stack_.get(), kStackBytes);
  swapcontext(&resumer_, &own_);
  after_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  void* fake_stack = nullptr;
  before_switch(&fake_stack, resumer_stack_, resumer_stack_bytes_);
  swapcontext(&own_, &resumer_);
  after_switch(fake_stack, &resumer_stack_, &resumer_stack_bytes_);
}

}  // namespace encode::emulator
