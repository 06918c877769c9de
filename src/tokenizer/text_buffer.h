// A text on its way through the pipeline. It is a view into the input until a step has to rewrite
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace encode {

// Two buffers take turns: a step reads view() and writes the other buffer. So no step allocates
// memory once both buffers have grown.
class TextBuffer {
 public:
  void reset(std::string_view text, bool at_origin) {
    view_ = text;
    at_origin_ = at_origin;
  }
  std::string_view view() const { return view_; }

  // True if the first character stems from the first character of the row. Metaspace's scheme
  // "first" needs to know this.
  bool at_origin() const { return at_origin_; }
  void leave_origin() { at_origin_ = false; }

  // Returns the buffer that view() does not use, emptied.
  std::string& spare() {
    buffers_[spare_].clear();
    return buffers_[spare_];
  }
  // Makes the buffer that spare() has returned the text.
  void commit() {
    view_ = buffers_[spare_];
    spare_ = 1 - spare_;
  }
  void narrow(std::string_view part) { view_ = part; }  // `part` lies within view()

  // Frees the memory that an unusually long row has made the buffers take.
  void shrink(size_t max_bytes) {
    for (std::string& buffer : buffers_) {
      if (buffer.capacity() > max_bytes) std::string().swap(buffer);
    }
    view_ = {};
  }

 private:
  std::string_view view_;
  std::string buffers_[2];
  int spare_ = 0;
  bool at_origin_ = true;
};

}  // namespace encode
