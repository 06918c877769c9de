// Reads and checks the safetensors format (https://github.com/huggingface/safetensors):
//   - 8 bytes: the number N, little-endian;
//   - N bytes: the header, a JSON object;
//   - the bytes of the tensors, without holes, up to the end of the file.
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

// Returns the bytes of one element, or 0 if the dtype is not known.
int64_t dtype_bytes(std::string_view dtype);

// Returns the size of a tensor in bytes, which is at least 1. No other code computes this size.
// `where` names the tensor for messages. Throws Error "model.dtype" if the dtype is not known.
// Throws Error "model.shape" if the rank is above 8, a dimension is not in [1, 2^40], or the size
// does not fit in 63 bits.
int64_t checked_bytes(std::span<const int64_t> shape, std::string_view dtype,
                      const std::string& where);

// Parses the JSON header of a file of `file_bytes` bytes. `file` is for TensorInfo::file and for
// messages. Throws Error: "model.header", "model.dtype", "model.shape", "model.offsets",
// "model.file_size". All are kConfig.
TensorMap parse_safetensors_header(std::string_view header, int64_t file_bytes,
                                   const std::string& file);

// Reads and parses the header of an open file. Allocates memory only for the header. Throws what
// parse_safetensors_header() throws, and Error "model.header_size". Throws kIoError if reading
// fails.
TensorMap read_safetensors(const UniqueFd& fd, const std::string& file);

}  // namespace encode
