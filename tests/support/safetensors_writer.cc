#include "support/safetensors_writer.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace encode::testing {

TestTensor f32_tensor(std::string name, std::vector<int64_t> shape, std::span<const float> values) {
  std::string bytes(values.size_bytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), "F32", std::move(shape), std::move(bytes)};
}

TestTensor zeros_tensor(std::string name, std::vector<int64_t> shape) {
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return {std::move(name), "F32", std::move(shape),
          std::string(static_cast<size_t>(count) * 4, '\0')};
}

std::string safetensors_bytes(const std::vector<TestTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const TestTensor& tensor : tensors) {
    std::string shape;
    for (const int64_t dim : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    header += header.size() > 1 ? "," : "";
    header += "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  return safetensors_raw(header + "}", data);
}

std::string safetensors_raw(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header;
  file += data;
  return file;
}

}  // namespace encode::testing
