// Writes tiny safetensors files for tests. The files can be valid or broken.
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
TestTensor zeros_tensor(std::string name, std::vector<int64_t> shape);  // with dtype F32

// Returns a valid file with the bytes of the tensors in the given order.
std::string safetensors_bytes(const std::vector<TestTensor>& tensors);
// Returns a file that consists of the length of `header`, `header` and `data`. Nothing is checked,
// so the file can be broken.
std::string safetensors_raw(std::string_view header, std::string_view data);

}  // namespace encode::testing
