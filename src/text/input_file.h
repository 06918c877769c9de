// One file of an input, whatever its format. RowReader reads the files of an input one after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "encode/config.h"

#include "text/file_identity.h"
#include "text/record.h"

namespace encode {

// What identifies a file as it is stored.
struct FileDigest {
  FileIdentity identity;  // of the file when it was opened
  std::string sha256;     // 64 hex digits
};

// One thread at a time may use a file.
class InputFile {
 public:
  virtual ~InputFile() = default;
  virtual bool next(Record& record) = 0;  // returns false at the end of the file
  // Goes to the start of a record that an earlier pass has reported.
  virtual void seek(int64_t offset_bytes, int64_t line) = 0;
  // Returns the digest of the whole file, in which next() has read the records. The file must be
  // opened with `hashed`, and seek() must not have been called.
  virtual FileDigest digest() = 0;
};

struct FileReading {
  bool hashed = false;
  size_t block_bytes = 0;  // the size of the blocks in which a file of text is read
  // False: the field holds rows, which are texts or token ids. True: it holds any values. Every
  // record then has a text: strings as they are, and other values as they are written. A value that
  // is missing or null is a problem. A hint then names the columns of the output, not the field.
  bool any_values = false;
  bool for_filter = false;  // with `any_values`: a hint names the filter, not the output
};

// Opens the file `options.path`. `options` must outlive the file. Throws what TextReader and
// RecordParser throw, and Error kConfig "text.format" or "text.field" if the format or the field
// does not fit.
std::unique_ptr<InputFile> open_input_file(const InputOptions& options, const FileReading& reading);

}  // namespace encode
