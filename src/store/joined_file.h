// The file of a matrix that is made of the rows of several .npy files, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/output_types.h"
#include "store/final_file.h"

namespace encode {

// A .npy file whose rows are copied.
struct JoinedPart {
  std::string path;
  int64_t rows = 0;
  std::string xxh3_128;  // of the whole file
};

struct JoinedShape {
  int64_t columns = 0;
  ItemType item = ItemType::kFloat32;

  int64_t row_bytes() const { return columns * facts_of(item).bytes; }
};

// Not thread-safe.
class JoinedFile final : public CompleteFile {
 public:
  // Reserves disk space for all rows of the parts, which all have the shape. Throws Error
  // kCantCreate, kNoPermission, kIoError.
  JoinedFile(const std::string& path, std::vector<JoinedPart> parts, JoinedShape shape);

  // Copies the rows. Several threads read and write blocks of 8 MiB at the same time, with 32 MiB
  // in memory. Compares the hash of each part. Throws Error kData "store.damaged" if a part is not
  // the one that is described, and kIoError.
  void copy();

  // Throws Error kInternal "store.misuse" before copy().
  void publish() override;
  const std::string& path() const override { return file_.path(); }
  int64_t rows_written() const override;
  int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string xxh3_hex() const override { return xxh3_; }

 private:
  const std::vector<JoinedPart> parts_;
  const JoinedShape shape_;
  const std::string header_;
  std::vector<int64_t> begins_;  // of the rows of each part in the file, and the end of the file
  AtomicFile file_;
  std::string xxh3_;  // "" before copy()
};

}  // namespace encode
