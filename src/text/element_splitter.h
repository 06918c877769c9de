// Cuts a JSON array into its elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encode/error.h"

#include "text/byte_window.h"
#include "text/record.h"

namespace encode {

// Looks only at brackets, strings and commas, and keeps one element in memory. An element need not
// be valid JSON. Not thread-safe.
class ElementSplitter {
 public:
  static constexpr std::string_view kNoun = "element";

  // An element of more than `hold_bytes` is skipped and not kept in memory. `path` is for messages.
  // `window` begins at the start of the file and must outlive the splitter.
  ElementSplitter(ByteWindow& window, int64_t hold_bytes, std::string path);

  // Returns false after the last element. The file must then have nothing but spaces. Throws Error
  // kData: "json.array" if the file is not an array or its structure is damaged, so that it is
  // unknown where the next element begins; "text.record_limit" for an element over kMaxRecordBytes.
  // Also throws what ByteWindow throws.
  bool next(RawRecord& element);
  // Goes to the start of element `number` (from 1), which is at `offset_bytes` in the decompressed
  // input.
  void seek(int64_t offset_bytes, int64_t number);

 private:
  // The position of the window in the array.
  enum class Place { kStart, kFirstElement, kElement, kAfterElement, kEnd };

  bool begin_element();
  size_t measure(RawRecord& element);
  bool skip_space();
  char peek() { return window_.view().front(); }
  void finish();
  Error broken(std::string what, std::string expected, size_t ahead = 0);

  ByteWindow& window_;
  size_t hold_bytes_;
  std::string path_;
  Place place_ = Place::kStart;
  int64_t next_number_ = 1;
  size_t unread_bytes_ = 0;  // the size of the last element, which is still in the window
};

}  // namespace encode
