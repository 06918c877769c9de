// Writes files of torch.save() for tests. The files can be valid or broken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace encode::testing {

// An entry of an archive. The fields with defaults can make the entry differ from a valid one.
struct ZipPart {
  std::string name;
  std::string content;
  uint16_t method = 0;
  uint16_t flags = 0;
  std::string local_name = {};  // the name in the header before the data; empty: `name`
  int64_t directory_shift = 0;  // is added to the offset in the central directory
  std::string before = {};      // bytes that belong to no entry
};

std::string zip_bytes(const std::vector<ZipPart>& parts);

// The parts of a pickle, for protocol 2.
std::string pickled_text(std::string_view text);
std::string pickled_int(int64_t value);
std::string pickled_tuple(const std::vector<int64_t>& values);
std::string pickled_global(std::string_view module, std::string_view name);
// `type` is a name such as "FloatStorage".
std::string pickled_storage(std::string_view type, std::string_view key, int64_t elements);
std::string pickled_tensor(const std::string& storage, int64_t offset,
                           const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);
// The whole pickle of {"t": value}.
std::string pickled_dict(const std::string& value);

// A file with this pickle and one storage, data/0, of six float32 numbers.
std::string torch_file(const std::string& pickle);

}  // namespace encode::testing
