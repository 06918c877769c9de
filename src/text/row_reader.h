// The implementation of open_texts() and scan_texts(). RowReader reads the records of the files of
// an input, one file after the other, and applies the row policies to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "encode/text.h"

#include "text/input_file.h"
#include "text/record.h"
#include "text/record_filter.h"

namespace encode {

// One thread at a time may use a reader. It throws what TextReader throws.
class RowReader final : public TextReader {
 public:
  static constexpr size_t kBlockBytes = size_t{256} << 10;

  enum class Purpose { kRead, kScan };  // kScan also hashes the files

  // Reads the input in blocks of `block_bytes`. The rows do not depend on the size of the blocks.
  // Tests use small blocks to cut records at every place. Opens the first file. Throws what
  // open_texts() throws.
  RowReader(const InputOptions& options, Purpose purpose, size_t block_bytes = kBlockBytes);
  // Reads the files of `scan`, which an earlier pass over the input has made. Opens no file.
  RowReader(const InputOptions& options, const InputScan& scan, size_t block_bytes);

  bool next(Text& text) override;
  // Makes the row of a checkpoint of the same input the next row. Throws what next() throws.
  void go_to(const InputScan::Checkpoint& checkpoint);

  // Reads the whole input. The reader must have Purpose::kScan, and must not have read anything
  // before. Throws what TextReader throws, and passes on what `on_rejected` throws.
  InputScan scan(const std::function<void(const RejectedRow&)>& on_rejected);

 private:
  enum class Verdict { kAccept, kReject };

  void open(size_t index);
  void make_filter();
  bool next_record();
  bool next_kept_record();
  bool advance(const std::function<void(const RejectedRow&)>& on_rejected);
  Verdict judge();
  void judge_utf8();
  bool has_good_rows();
  Verdict refuse(bool fatal);
  void finish_file();
  ScannedFiles finish_files();

  InputOptions options_;  // `path` is the path of the file that is open
  PathList paths_;
  std::map<size_t, std::string> named_;  // the paths of files that texts refer to
  FileReading reading_;
  std::unique_ptr<RecordFilter> filter_;  // null if every record becomes a row
  std::unique_ptr<InputFile> file_;       // null before the first file is opened
  size_t index_ = 0;                      // the index of the file in `paths_`
  ScannedFiles files_;                    // the files that were read. Only for kScan
  int64_t first_row_ = 0;                 // of the open file
  int64_t rows_ = 0;                      // the number of accepted rows so far
  int64_t records_ = 0;                   // the number of records so far
  int64_t filtered_ = 0;                  // the records so far that the filter has dropped
  int64_t filter_unknown_ = 0;            // those of them for which the filter is null
  Record record_;                         // the last record
  std::string repaired_;                  // the text of record_ if it was not valid UTF-8
};

}  // namespace encode
