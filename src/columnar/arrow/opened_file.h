// An opened file with everything that Arrow's readers need, and the translation of their errors.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <functional>
#include <memory>
#include <string>

#include "columnar/arrow/host_file.h"
#include "columnar/columnar.h"

namespace encode {

// Must outlive everything that Arrow has read from the file. Not thread-safe.
class OpenedFile {
 public:
  // `file` must outlive the object.
  OpenedFile(ByteFile& file, ColumnRequest request)
      : request_(std::move(request)), file_(std::make_shared<HostFile>(file, memory_.pool())) {}

  const ColumnRequest& request() const { return request_; }
  const std::shared_ptr<HostFile>& file() const { return file_; }
  arrow::MemoryPool* pool() { return memory_.pool(); }

  // Calls `work`, which uses Arrow. Turns its exceptions, and a Status that is not OK, into the
  // Error that ColumnReader describes.
  void guarded(const std::function<arrow::Status()>& work) const;

  [[noreturn]] void refuse_damage(const std::string& found) const;
  [[noreturn]] void refuse_memory(const std::string& found) const;

 private:
  ColumnRequest request_;
  FileMemory memory_;
  std::shared_ptr<HostFile> file_;
};

}  // namespace encode
