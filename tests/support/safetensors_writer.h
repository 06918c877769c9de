// Tiny safetensors files for tests, sound and broken.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace encode::testing {

struct TestTensor {
  std::string name;
  std::string dtype;  // "F32", ...
  std::vector<int64_t> shape;
  std::string bytes;  // little-endian, row-major
};

TestTensor f32_tensor(std::string name, std::vector<int64_t> shape, std::span<const float> values);
TestTensor zeros_tensor(std::string name, std::vector<int64_t> shape);  // F32

// A sound file: the tensors' bytes in the given order.
std::string safetensors_bytes(const std::vector<TestTensor>& tensors);
// Length prefix, header as it is, data as it is: whatever a test wants to be wrong.
std::string safetensors_raw(std::string_view header, std::string_view data);

}  // namespace encode::testing
