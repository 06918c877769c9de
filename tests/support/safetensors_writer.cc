#include "support/safetensors_writer.h"

#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
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
  std::vector<std::string> entries;
  std::string data;
  for (const TestTensor& tensor : tensors) {
    const size_t begin = data.size();
    data += tensor.bytes;
    entries.push_back(fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  tensor.name, tensor.dtype, fmt::join(tensor.shape, ","), begin,
                                  data.size()));
  }
  return safetensors_raw(fmt::format("{{{}}}", fmt::join(entries, ",")), data);
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
