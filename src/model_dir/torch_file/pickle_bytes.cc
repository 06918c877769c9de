#include "model_dir/torch_file/pickle_bytes.h"

#include <fmt/format.h>

#include "encode/error.h"

namespace encode {

Error PickleBytes::unexpected(const std::string& found) const {
  return Error(
      {.code = "model.pickle",
       .what = "the pickle of the weights has something that encode does not read",
       .where = where_,
       .expected = "a dict of tensors, as torch.save(model.state_dict()) writes it, and no code",
       .found = fmt::format("{}, at byte {} of {}", found, opcode_at_, pickle_.size()),
       .hint = "nothing of the file was run. If you trust it, load it with torch and save it as "
               "safetensors"});
}

uint8_t PickleBytes::next_opcode() {
  opcode_at_ = next_;
  return number<uint8_t>();
}

std::string_view PickleBytes::take(uint64_t bytes) {
  if (bytes > left()) throw unexpected(fmt::format("{} bytes where {} are left", bytes, left()));
  const std::string_view result = pickle_.substr(next_, static_cast<size_t>(bytes));
  next_ += static_cast<size_t>(bytes);
  return result;
}

std::string_view PickleBytes::line() {
  const size_t end = pickle_.find('\n', next_);
  if (end == std::string_view::npos) throw unexpected("a line without an end");
  const std::string_view text = take(end - next_);
  take(1);
  return text;
}

int64_t PickleBytes::long_integer() {
  const std::string_view bytes = take(number<uint8_t>());
  if (bytes.size() > sizeof(int64_t))
    throw unexpected(fmt::format("an integer of {} bytes", bytes.size()));
  const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
  int64_t value = negative ? -1 : 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace encode
