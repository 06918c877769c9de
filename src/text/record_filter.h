// Applies the filter of the rows (InputOptions::filter) to the records of an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/text.h"

#include "base/where_filter.h"
#include "text/input_file.h"
#include "text/record.h"

namespace encode {

// Reads the fields of the filter with a reader for each of them, record by record with the input.
// So the filter says the same of a record whatever the text of the row is. One thread at a time may
// use it. The functions throw what TextReader throws.
class RecordFilter {
 public:
  // `paths` are the files of the input itself. Opens no file. Throws what WhereFilter throws.
  RecordFilter(const InputOptions& options, const PathList& paths, size_t block_bytes);

  // Opens the first file for every field. Throws Error kConfig if a file of columns lacks one.
  void open_first();

  // Reads the fields of the next record of the input, which is `record`. With kMismatch the record
  // has a problem: its fields cannot be read, or the filter does not fit their types. Throws Error
  // kData "filter.records" if the other input has no further record.
  WhereFilter::Verdict next(Record& record);
  // Must be called after the last record of the input. `records` is the number of its records.
  // Throws Error kData "filter.records" if the other input has more.
  void finish(int64_t records);
  // Makes the record of a checkpoint the next one. In another input, all records before it are
  // read, because the checkpoint has no place there.
  void go_to(const InputScan::Checkpoint& checkpoint);

 private:
  // The reader of one field.
  struct Field {
    InputOptions options;             // `path` is the path of the file that is open
    std::unique_ptr<InputFile> file;  // null before the first record
    size_t index = 0;                 // the index of the file in `paths_`
    Record record = {};
    std::string repaired = {};  // the value if it was not valid UTF-8
  };

  void open(Field& field, size_t index) const;
  bool advance(Field& field) const;
  bool advance_all();
  bool take_value(Field& field, FilterValue& value, Record& record) const;
  [[noreturn]] void refuse_records(std::string expected, std::string found) const;

  WhereFilter filter_;
  bool other_input_;
  std::string input_path_;  // of the input itself, for messages
  PathList paths_;
  FileReading reading_;
  std::vector<std::unique_ptr<Field>> fields_;  // an open file refers to its options
  std::vector<FilterValue> values_;
  int64_t records_ = 0;  // the records before the next one
};

}  // namespace encode
