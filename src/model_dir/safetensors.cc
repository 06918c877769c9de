#include "model_dir/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

constexpr int64_t kLengthBytes = 8;

struct HeaderTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;  // begin and end, counted from the beginning of the data
};

// Parses the JSON of the header event by event, because a JSON tree of a hostile header would need
// ten times the memory. Refuses everything that is not in the format.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  // Both must outlive the reader.
  HeaderReader(const std::string& file, std::string_view header) : file_(file), header_(header) {}

  std::map<std::string, HeaderTensor> take() { return std::move(tensors_); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  bool null() override { return unexpected("null"); }
  bool boolean(bool /*value*/) override { return unexpected("a boolean"); }
  bool number_float(double /*value*/, const std::string& text) override {
    return unexpected(preview(text));
  }
  bool binary(Json::binary_t& /*value*/) override { return unexpected("binary data"); }
  bool number_integer(int64_t value) override { return unexpected(fmt::to_string(value)); }
  bool number_unsigned(uint64_t value) override {
    if (state_ != State::kShape && state_ != State::kOffsets)
      return unexpected(fmt::to_string(value));
    std::vector<int64_t>& list = state_ == State::kShape ? tensor().shape : tensor().offsets;
    const size_t most = state_ == State::kShape ? static_cast<size_t>(kMaxRank) : 2;
    if (list.size() >= most) return unexpected(fmt::format("more than {} numbers", most));
    if (value > static_cast<uint64_t>(INT64_MAX)) return unexpected(fmt::to_string(value));
    list.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(std::string& value) override {
    if (state_ == State::kMetadata) {
      count_metadata(value.size());
      metadata_[metadata_key_] = value;
      return true;
    }
    if (state_ != State::kTensor || field_ != "dtype")
      return unexpected(fmt::format("the string '{}'", preview(value)));
    tensor().dtype = value;
    return true;
  }
  bool start_object(size_t /*elements*/) override {
    switch (state_) {
      case State::kStart:
        state_ = State::kTensors;
        return true;
      case State::kTensors:
        state_ = name_ == kMetadataKey ? State::kMetadata : State::kTensor;
        return true;
      default:
        return unexpected("an object");
    }
  }
  bool start_array(size_t /*elements*/) override {
    if (state_ != State::kTensor || field_ == "dtype") return unexpected("an array");
    state_ = field_ == "shape" ? State::kShape : State::kOffsets;
    return true;
  }
  bool end_array() override {
    state_ = State::kTensor;
    return true;
  }
  bool key(std::string& key) override {
    if (state_ == State::kTensors) return start_tensor(key);
    if (state_ == State::kMetadata) {
      count_metadata(key.size());
      if (!fields_.insert(key).second) return duplicate(key);
      metadata_key_ = key;
      return true;
    }
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return unexpected(fmt::format("the key '{}'", preview(key)));
    if (!fields_.insert(key).second) return duplicate(key);
    field_ = key;
    return true;
  }
  bool end_object() override {
    if (state_ == State::kTensor && (fields_.size() != 3 || tensor().offsets.size() != 2)) {
      return unexpected("an incomplete entry");
    }
    state_ = state_ == State::kTensors ? State::kEnd : State::kTensors;
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    const std::optional<JsonFault> fault = find_json_fault(header_);
    throw Error(
        {.code = "model.header",
         .what = "the header of the safetensors file is malformed JSON",
         .where = file_,
         .expected = "JSON (RFC 8259)",
         .found = fault ? fmt::format("{}, at byte {} of the header", fault->reason, fault->offset)
                        : fmt::format("a syntax error at byte {} of the header", position),
         .hint = "save the model in the safetensors format again, or compare the file "
                 "with the original"});
  }

 private:
  enum class State { kStart, kTensors, kTensor, kShape, kOffsets, kMetadata, kEnd };
  static constexpr std::string_view kMetadataKey = "__metadata__";

  HeaderTensor& tensor() { return *tensor_; }

  bool start_tensor(const std::string& name) {
    fields_.clear();
    name_ = name;
    if (name == kMetadataKey) {
      if (std::exchange(seen_metadata_, true)) return duplicate(name);
      return true;
    }
    if (name.empty() || static_cast<int64_t>(name.size()) > kMaxTensorNameBytes) {
      return unexpected(fmt::format("a tensor name of {} bytes", name.size()));
    }
    if (static_cast<int64_t>(tensors_.size()) >= kMaxTensors) {
      return unexpected(fmt::format("more than {} tensors", kMaxTensors));
    }
    const auto [entry, inserted] = tensors_.try_emplace(name);
    tensor_ = &entry->second;
    return inserted || duplicate(name);
  }

  void count_metadata(size_t bytes) {
    metadata_bytes_ += static_cast<int64_t>(bytes);
    if (metadata_bytes_ > kMaxMetadataBytes)
      unexpected(fmt::format("more than {} bytes", kMaxMetadataBytes));
  }

  std::string place() const {
    return name_.empty() ? "the header" : fmt::format("the entry '{}'", preview(name_));
  }

  [[noreturn]] bool duplicate(const std::string& key) const {
    throw Error({.code = "model.header",
                 .what = "a key appears twice in the header of the safetensors file",
                 .where = file_,
                 .expected = "unique keys",
                 .found = fmt::format("'{}' again, in {}", preview(key), place()),
                 .hint = "programs read such a file in different ways: do not use it"});
  }

  [[noreturn]] bool unexpected(const std::string& found) const {
    throw Error(
        {.code = "model.header",
         .what = "the header of the safetensors file is not in the format",
         .where = file_,
         .expected =
             R"({"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}, )"
             R"("__metadata__" with strings of 1 MiB in total, names of 1 to 512 bytes)",
         .found = fmt::format("{}, in {}", found, place()),
         .hint = "download the model again, or save it in the safetensors format"});
  }

  const std::string& file_;
  std::string_view header_;
  State state_ = State::kStart;
  std::string name_;   // the key of the current entry
  std::string field_;  // the key inside the current tensor
  std::set<std::string> fields_;
  bool seen_metadata_ = false;
  int64_t metadata_bytes_ = 0;
  std::string metadata_key_;
  std::map<std::string, std::string> metadata_;
  HeaderTensor* tensor_ = nullptr;
  std::map<std::string, HeaderTensor> tensors_;
};

using TensorEntry = TensorMap::value_type;

std::string quoted(const TensorEntry* entry) {
  return entry == nullptr ? "the header" : fmt::format("tensor '{}'", preview(entry->first));
}

// Throws the Error for an `entry` that does not begin at the end of `previous`, or at the end of
// the header if `previous` is nullptr. Offsets count from the beginning of the data.
[[noreturn]] void refuse_offset(const TensorEntry& entry, const TensorEntry* previous, int64_t end,
                                int64_t offset) {
  throw Error(
      {.code = "model.offsets",
       .what = fmt::format("{} {} {}", quoted(&entry),
                           offset < end ? "overlaps" : "leaves a hole after", quoted(previous)),
       .where = entry.second.file,
       .expected = fmt::format("data_offsets that start at {}", end),
       .found = fmt::to_string(offset),
       .hint = "the file is damaged or was made to hide data: do not use it"});
}

// Throws if tensors overlap, or if a byte of the data belongs to no tensor.
void require_tiling(const TensorMap& tensors, int64_t data_begin, int64_t file_bytes) {
  std::vector<const TensorEntry*> order;
  order.reserve(tensors.size());
  for (const TensorEntry& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return a->second.offset_bytes < b->second.offset_bytes;
  });
  int64_t end = data_begin;
  const TensorEntry* previous = nullptr;
  for (const TensorEntry* entry : order) {
    const int64_t offset = entry->second.offset_bytes;
    if (offset != end) refuse_offset(*entry, previous, end - data_begin, offset - data_begin);
    end += entry->second.size_bytes;
    previous = entry;
  }
  if (end == file_bytes) return;
  // The file cannot be too short, because parse_safetensors_header() has checked each tensor.
  throw Error({.code = "model.file_size",
               .what = "the safetensors file goes on after its last tensor",
               .where = tensors.begin()->second.file,
               .expected = fmt::format("{} bytes", end),
               .found = fmt::format("{} bytes", file_bytes),
               .hint = "the file is damaged or was made to hide data: download it again"});
}

// Adds the tensors that share their bytes with another tensor. save_model() of safetensors stores
// the bytes only once and notes the other names in the metadata. For example, the word embeddings
// of a language model may be stored only under the name of its head.
void add_shared_tensors(const std::map<std::string, std::string>& metadata, TensorMap& tensors) {
  TensorMap shared;
  for (const auto& [name, kept] : metadata) {
    const auto found = tensors.find(kept);
    if (found != tensors.end() && !name.empty() &&
        static_cast<int64_t>(name.size()) <= kMaxTensorNameBytes)
      shared.emplace(name, found->second);
  }
  tensors.merge(shared);  // a tensor of the file keeps its own bytes
}

[[noreturn]] void refuse_length(uint64_t length, const std::string& start, int64_t file_bytes,
                                const std::string& file) {
  const bool pointer = start == "version ";  // a Git LFS pointer begins with this word
  throw Error({.code = "model.header_size",
               .what = "the header of the safetensors file has an impossible length",
               .where = file,
               .expected = fmt::format("2 to {} bytes, and less than the size of the file",
                                       kMaxHeaderBytes),
               .found = fmt::format("{} bytes, in a file of {} bytes", length, file_bytes),
               .hint = pointer ? "this is a Git LFS pointer, not the weights: run `git lfs pull`"
                               : "download the model again, or save it in the safetensors format"});
}

}  // namespace

TensorMap parse_safetensors_header(std::string_view header, int64_t file_bytes,
                                   const std::string& file) {
  const auto refuse = [&file](std::string what, std::string found) {
    return Error({.code = "model.header",
                  .what = std::move(what),
                  .where = file,
                  .expected = "one JSON object that starts with '{' and names at least one tensor",
                  .found = std::move(found),
                  .hint = "download the model again, or save it in the safetensors format"});
  };
  if (header.empty() || header[0] != '{') {
    throw refuse("the header of the safetensors file is not a JSON object",
                 fmt::format("'{}'", preview(header.substr(0, 8))));
  }
  // nlohmann::json takes a NUL byte as the end of its input and would ignore the rest.
  if (header.find('\0') != std::string_view::npos) {
    throw refuse("the header of the safetensors file is not a JSON object", "a NUL byte");
  }
  HeaderReader reader(file, header);
  Json::sax_parse(header.begin(), header.end(), &reader);

  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(header.size());
  TensorMap tensors;
  for (auto& [name, tensor] : reader.take()) {
    const std::string where = fmt::format("{}, tensor '{}'", file, preview(name));
    const int64_t bytes = checked_bytes(tensor.shape, tensor.dtype, where);
    const int64_t begin = tensor.offsets[0];
    const int64_t end = tensor.offsets[1];
    if (begin > end || end > file_bytes - data_begin || end - begin != bytes) {
      throw Error(
          {.code = "model.offsets",
           .what = "the bytes of a tensor do not fit its shape or the file",
           .where = where,
           .expected = fmt::format("{} bytes ({} {}) within the {} bytes of data", bytes,
                                   tensor.dtype, shape_text(tensor.shape), file_bytes - data_begin),
           .found = fmt::format("data_offsets {}", shape_text(tensor.offsets)),
           .hint = "the copy or download is incomplete or damaged: download it again"});
    }
    tensors[name] = {.file = file,
                     .dtype = std::move(tensor.dtype),
                     .shape = std::move(tensor.shape),
                     .offset_bytes = data_begin + begin,
                     .size_bytes = bytes};
  }
  if (tensors.empty()) throw refuse("the safetensors file has no tensor", "no tensor");
  require_tiling(tensors, data_begin, file_bytes);
  add_shared_tensors(reader.metadata(), tensors);
  return tensors;
}

TensorMap read_safetensors(const UniqueFd& fd, const std::string& file) {
  static_assert(std::endian::native == std::endian::little,
                "the length and the tensors are little-endian");
  const int64_t file_bytes = file_size(fd, file);
  std::string start(kLengthBytes, '\0');
  uint64_t length = 0;
  if (file_bytes >= kLengthBytes) {
    pread_all(fd, start, 0, file);
    std::memcpy(&length, start.data(), sizeof length);
  }
  if (length < 2 || length > static_cast<uint64_t>(kMaxHeaderBytes) ||
      static_cast<int64_t>(length) > file_bytes - kLengthBytes) {
    refuse_length(length, start, file_bytes, file);
  }
  std::string header(length, '\0');
  pread_all(fd, header, kLengthBytes, file);
  return parse_safetensors_header(header, file_bytes, file);
}

}  // namespace encode
