// Holds a text while the normalizers and pre-tokenizers rewrite it. The text is a view of the input
// until a step changes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tokenizer/rewrite_budget.h"

namespace encode {

// There are two buffers: a step reads view() and writes the other buffer. Once both buffers have
// grown, no step allocates memory. The caller keeps the text of reset() while view() may return it.
// Not thread-safe.
class TextBuffer {
 public:
  // `budget` limits what the steps may write, and must outlive the steps. Without a budget there is
  // no limit, so the caller must know that the steps end.
  void reset(std::string_view text, bool at_origin, RewriteBudget* budget = nullptr) {
    view_ = text;
    at_origin_ = at_origin;
    budget_ = budget;
  }
  std::string_view view() const { return view_; }

  // Returns true if the first character comes from the first character of the row. The scheme
  // "first" of Metaspace depends on this.
  bool at_origin() const { return at_origin_; }
  void leave_origin() { at_origin_ = false; }

  // Begins a step. Errors name it `step`, which must outlive the step. This function,
  // check_growth() and commit() throw what RewriteBudget::check() throws.
  void enter(std::string_view step) {
    if (budget_ != nullptr) budget_->enter(step, view_.size());
  }
  // Checks the buffer that spare() has returned while a step writes it. A step that can make a text
  // many times as long must call it.
  void check_growth() const {
    if (budget_ != nullptr) budget_->check(buffers_[spare_].size());
  }

  // Empties the buffer that view() does not use, and returns it.
  std::string& spare() {
    buffers_[spare_].clear();
    return buffers_[spare_];
  }
  // Makes view() a view of the buffer that spare() has returned.
  void commit() {
    if (budget_ != nullptr) budget_->spend(buffers_[spare_].size());
    view_ = buffers_[spare_];
    spare_ = 1 - spare_;
  }
  void narrow(std::string_view part) { view_ = part; }  // `part` lies within view()

  // Frees each buffer that has more than `max_bytes`.
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
  RewriteBudget* budget_ = nullptr;
};

}  // namespace encode
