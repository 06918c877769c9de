#include "guarded_buffer.h"

#include <algorithm>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "shared_memory.h"

namespace encode::testing {
namespace {

constexpr size_t kGuardBytes = size_t{32} * 1024;  // the size of the widest row in random_calls.cc
constexpr size_t kAlignment = 16;
constexpr std::byte kGuard{0xff};

}  // namespace

size_t bytes_of(EncodeCudaType type) { return type == kEncodeCudaFloat32 ? 4 : 2; }

GuardedBuffer::GuardedBuffer(size_t count, size_t element_bytes)
    : bytes_(count * element_bytes),
      room_(bytes_ + 2 * kGuardBytes + kAlignment),
      memory_(std::make_unique_for_overwrite<std::byte[]>(room_)) {
  std::fill_n(memory_.get(), room_, kGuard);
  void* begin = memory_.get() + kGuardBytes;
  size_t space = room_ - kGuardBytes;
  begin_ = static_cast<std::byte*>(std::align(kAlignment, bytes_, begin, space));
  emulator::forbid(memory_.get(), room_);
  emulator::allow(begin_, bytes_);
}

GuardedBuffer::GuardedBuffer(const GuardedBuffer& other) : GuardedBuffer(other.bytes_, 1) {
  std::copy_n(other.begin_, bytes_, begin_);
}

GuardedBuffer::~GuardedBuffer() { emulator::allow(memory_.get(), room_); }

GuardedBuffer GuardedBuffer::random(int64_t count, EncodeCudaType type, std::mt19937_64& random) {
  GuardedBuffer buffer(static_cast<size_t>(count), bytes_of(type));
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) buffer.set(type, i, normal(random));
  return buffer;
}

float GuardedBuffer::get(EncodeCudaType type, size_t index) const {
  if (type == kEncodeCudaFloat16) return as<c10::Half>()[index];
  if (type == kEncodeCudaBFloat16) return as<c10::BFloat16>()[index];
  return as<float>()[index];
}

void GuardedBuffer::set(EncodeCudaType type, size_t index, float value) {
  if (type == kEncodeCudaFloat16) {
    as<c10::Half>()[index] = value;
  } else if (type == kEncodeCudaBFloat16) {
    as<c10::BFloat16>()[index] = value;
  } else {
    as<float>()[index] = value;
  }
}

bool GuardedBuffer::intact() const {
  emulator::allow(memory_.get(), room_);
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  const bool found = std::all_of(memory_.get(), begin_, is_guard) &&
                     std::all_of(begin_ + bytes_, memory_.get() + room_, is_guard);
  emulator::forbid(memory_.get(), room_);
  emulator::allow(begin_, bytes_);
  return found;
}

}  // namespace encode::testing
