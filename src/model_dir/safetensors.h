// The safetensors format, checked as https://github.com/huggingface/safetensors defines it:
//   8 bytes N (little-endian), N bytes of JSON header, then the tensors' bytes without holes up to
//   the end of the file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "encode/model_directory.h"

#include "base/file.h"

namespace encode {

using TensorMap = std::map<std::string, TensorInfo>;

// Bytes of one element, 0 for a dtype that is not known.
int64_t dtype_bytes(std::string_view dtype);

// The one place where a tensor's size is computed: product of `shape` x dtype_bytes, at least 1.
// Throws Error: "model.dtype" unknown, "model.shape" where the rank is above 8, a dimension is not
// in [1, 2^40] or the product overflows 63 bits. `where` names the tensor.
int64_t checked_bytes(std::span<const int64_t> shape, std::string_view dtype,
                      const std::string& where);

// Parses the JSON header of a file of `file_bytes` bytes. `file` is for TensorInfo::file and for
// messages. Throws Error (kConfig): "model.header", "model.header_size", "model.dtype",
// "model.shape", "model.offsets".
TensorMap parse_safetensors_header(std::string_view header, int64_t file_bytes,
                                   const std::string& file);

// Reads and parses the header of an open file. Takes memory for the header alone.
TensorMap read_safetensors(const UniqueFd& fd, const std::string& file);

}  // namespace encode
