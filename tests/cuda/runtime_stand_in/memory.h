// The memory of the stand-in's device, and what it knows of the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <driver_types.h>

namespace runtime_stand_in {

enum class Place { kPageable, kPinned, kDevice };
const char* name_of(Place place);

// All functions are thread-safe.

// Makes a block. Returns cudaErrorMemoryAllocation if the device has less memory left.
cudaError_t allocate(void** out, size_t bytes, Place place);
// Frees a block. Returns cudaErrorInvalidValue for any other address.
cudaError_t release(void* block);
// Returns the place of the byte at `address`.
Place place_of(const void* address);

size_t device_bytes();       // the memory of the device
size_t device_bytes_left();  // what is free of it

// For virtual memory: takes bytes from the device, or gives them back, without an address.
bool take_device_bytes(size_t bytes);
void return_device_bytes(size_t bytes);
// From now on [address, address + bytes) is a block of the device, or is not.
void map_block(uintptr_t address, size_t bytes);
void unmap_block(uintptr_t address);

}  // namespace runtime_stand_in
