#include "torch_file_writer.h"

#include <cstring>

namespace encode::testing {
namespace {

template <typename Number>
void put(std::string& out, Number value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

}  // namespace

std::string zip_bytes(const std::vector<ZipPart>& parts) {
  std::string file;
  std::string directory;
  for (const ZipPart& part : parts) {
    file += part.before;
    const auto size = static_cast<uint32_t>(part.content.size());
    const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
    const auto offset =
        static_cast<uint32_t>(static_cast<int64_t>(file.size()) + part.directory_shift);
    const auto common = [&](std::string& out, const std::string& name) {
      put<uint16_t>(out, 0);  // version
      put<uint16_t>(out, part.flags);
      put<uint16_t>(out, part.method);
      put<uint64_t>(out, 0);  // time, date, CRC
      put<uint32_t>(out, size);
      put<uint32_t>(out, size);
      put<uint16_t>(out, static_cast<uint16_t>(name.size()));
      put<uint16_t>(out, 0);  // extra fields
    };
    put<uint32_t>(file, 0x04034b50);
    common(file, local_name);
    file += local_name + part.content;
    put<uint32_t>(directory, 0x02014b50);
    put<uint16_t>(directory, 0);
    common(directory, part.name);
    directory += std::string(10, '\0');  // comment, disk, attributes
    put<uint32_t>(directory, offset);
    directory += part.name;
  }
  const auto begin = static_cast<uint32_t>(file.size());
  file += directory;
  put<uint32_t>(file, 0x06054b50);
  put<uint32_t>(file, 0);  // disks
  put<uint16_t>(file, static_cast<uint16_t>(parts.size()));
  put<uint16_t>(file, static_cast<uint16_t>(parts.size()));
  put<uint32_t>(file, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(file, begin);
  put<uint16_t>(file, 0);  // comment
  return file;
}

std::string pickled_text(std::string_view text) {
  std::string out = "X";
  put<uint32_t>(out, static_cast<uint32_t>(text.size()));
  return out + std::string(text);
}

std::string pickled_int(int64_t value) {
  std::string out = "\x8a\x08";
  put(out, value);
  return out;
}

std::string pickled_tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += pickled_int(value);
  return out + "t";
}

std::string pickled_global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string pickled_storage(std::string_view type, std::string_view key, int64_t elements) {
  return "(" + pickled_text("storage") + pickled_global("torch", type) + pickled_text(key) +
         pickled_text("cpu") + pickled_int(elements) + "tQ";
}

std::string pickled_tensor(const std::string& storage, int64_t offset,
                           const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return pickled_global("torch._utils", "_rebuild_tensor_v2") + "(" + storage +
         pickled_int(offset) + pickled_tuple(shape) + pickled_tuple(strides) + "\x89" +
         pickled_global("collections", "OrderedDict") + ")RtR";
}

std::string pickled_dict(const std::string& value) {
  return "\x80\x02}" + pickled_text("t") + value + "s.";
}

std::string torch_file(const std::string& pickle) {
  return zip_bytes(
      {{"m/data.pkl", pickle}, {"m/data/0", std::string(24, '\1')}, {"m/version", "3\n"}});
}

}  // namespace encode::testing
