#include "line_output.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/path_kind.h"

namespace encode {

LineOutput::LineOutput(std::string path, bool overwrite) : path_(std::move(path)) {
  if (overwrite || !path_exists(path_, "io.stat")) {
    file_.emplace(path_, 0);
    return;
  }
  existing_ = open_for_reading(path_, "io.read");
  size_ = file_size(existing_, path_);
}

void LineOutput::write(std::string_view line) {
  if (file_) {
    file_->write(line.data(), line.size());
    return;
  }
  ++lines_;
  const auto bytes = static_cast<int64_t>(line.size());
  if (offset_ + bytes > size_) refuse(fmt::format("another line {}, or none", lines_));
  found_.resize(line.size());
  pread_all(existing_, found_, offset_, path_);
  if (found_ != line) refuse(fmt::format("another line {}", lines_));
  offset_ += bytes;
}

bool LineOutput::finish() {
  if (file_) {
    file_->commit();
    return true;
  }
  if (offset_ != size_) refuse(fmt::format("more than {} lines", lines_));
  return false;
}

void LineOutput::refuse(std::string found) const {
  throw Error(
      {.code = "output.exists",
       .what = "the output exists and has other content",
       .where = path_,
       .expected = "a path that nothing has, or a file with exactly the lines of this command",
       .found = std::move(found),
       .hint = "give another --output, or replace the file with --overwrite"});
}

}  // namespace encode
