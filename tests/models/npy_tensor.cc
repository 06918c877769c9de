#include "npy_tensor.h"

#include <cstring>
#include <regex>
#include <stdexcept>
#include <vector>

#include <ATen/ops/empty.h>

#include "support/temp_dir.h"

namespace encode::testing {

at::Tensor load_npy(const std::string& path) {
  const std::string bytes = read_bytes(path);
  const size_t header_bytes =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256 * static_cast<unsigned char>(bytes.at(9));
  const std::string header = bytes.substr(10, header_bytes - 10);
  std::smatch match;
  if (!std::regex_search(
          header, match,
          std::regex(R"('descr': '<([fi])4'.*'fortran_order': False.*\(([0-9, ]+)\))"))) {
    throw std::runtime_error("not a little-endian 4-byte C-ordered array: " + path);
  }
  std::vector<int64_t> shape;
  const std::string dims = match[2];
  const std::regex digits("[0-9]+");
  for (std::sregex_iterator it(dims.begin(), dims.end(), digits), end; it != end; ++it) {
    shape.push_back(std::stoll(it->str()));
  }
  at::Tensor tensor =
      at::empty(shape, at::TensorOptions().dtype(match[1] == "f" ? at::kFloat : at::kInt));
  if (bytes.size() - header_bytes != tensor.nbytes())
    throw std::runtime_error("truncated: " + path);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data() + header_bytes, tensor.nbytes());
  return tensor;
}

}  // namespace encode::testing
