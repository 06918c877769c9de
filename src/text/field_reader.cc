// Reads the rows of a scan with other fields of their records. A ScannedTexts says which records
// are rows, and each field has a reader of its own, which reads the records up to the record of the
// row.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "base/hash.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/where_filter.h"
#include "text/field_blocks.h"
#include "text/file_identity.h"
#include "text/input_file.h"
#include "text/row_reader.h"
#include "text/template_text.h"
#include "text/text_format.h"

namespace encode {
namespace {

constexpr const char* kInputChanged = "the input is not the one that was read when the run began";

InputOptions options_for(const InputOptions& input, const std::string& field) {
  InputOptions options = input;
  options.field = field;
  options.text_template.clear();
  options.more_paths.clear();
  return options;
}

FileReading reading_of(bool hashed) {
  return {.hashed = hashed, .block_bytes = RowReader::kBlockBytes, .any_values = true};
}

// What is read of the files of a scan.
enum class Reach {
  kWholeFiles,  // all of them; their hashes are compared
  kBlocks,      // the blocks of the scan
};

// The values of one field. Not thread-safe.
class Field {
 public:
  Field(const InputOptions& input, const InputScan& scan, const std::string& name, Reach reach)
      : options_(options_for(input, name)), scan_(scan), reach_(reach) {}

  // Returns the value in the record of a row. The rows must come in order.
  std::optional<std::string> value(const Text& row) {
    open_file_of(row.row);
    while (record_.line < row.line) {
      if (!file_->next(record_))
        throw changed_in_run(options_.path, kInputChanged, fmt::format("a record {}", row.line),
                             "none");
    }
    if (record_.line != row.line)
      throw changed_in_run(options_.path, kInputChanged, fmt::format("a record {}", row.line),
                           fmt::format("a record {}", record_.line));
    if (record_.problem) {
      if (is_absent(record_.problem)) return std::nullopt;
      throw record_error(
          record_, options_.path,
          fmt::format("correct the record, or take '{}' out of --columns (output.columns "
                      "in the config)",
                      preview(options_.field)));
    }
    if (is_valid_utf8(record_.text)) return std::string(record_.text);
    std::string repaired;
    append_repaired_utf8(record_.text, repaired);
    return repaired;
  }

  // Compares the open file with the one of the scan.
  void finish() {
    if (file_ == nullptr || reach_ == Reach::kBlocks) return;
    const InputScan::File& expected = scan_.files[index_];
    const FileDigest found = file_->digest();
    if (found.identity.bytes == expected.bytes && found.sha256 == expected.sha256) return;
    throw changed_in_run(
        options_.path, kInputChanged,
        fmt::format("{} bytes with the SHA-256 {}", expected.bytes, expected.sha256),
        fmt::format("{} bytes with the SHA-256 {}", found.identity.bytes, found.sha256));
  }

 private:
  void open_file_of(int64_t row) {
    const auto after = std::upper_bound(
        scan_.files.begin(), scan_.files.end(), row,
        [](int64_t number, const InputScan::File& file) { return number < file.first_row; });
    const auto index = static_cast<size_t>(after - scan_.files.begin()) - 1;
    if (file_ != nullptr && index == index_) return;
    finish();
    file_.reset();
    index_ = index;
    options_.path = scan_.files[index].path;
    record_ = {};
    file_ = open_input_file(options_, reading_of(reach_ == Reach::kWholeFiles));
    if (reach_ == Reach::kWholeFiles) return;
    const InputScan::Checkpoint& first = scan_.checkpoints.front();
    if (static_cast<size_t>(first.file) == index) file_->seek(first.offset_bytes, first.line);
  }

  InputOptions options_;  // `path` is the path of the file that is open
  const InputScan& scan_;
  Reach reach_;
  std::unique_ptr<InputFile> file_;  // null before the first row
  size_t index_ = 0;                 // the index of the file
  Record record_;
};

class FieldReader final : public ScannedFields {
 public:
  FieldReader(const InputOptions& options, const InputScan& scan,
              const std::vector<std::string>& fields, Reach reach)
      : texts_(open_scanned_texts(options, scan)) {
    if (!scan.checkpoints.empty()) texts_->seek(scan.checkpoints.front().row);
    for (const std::string& field : fields)
      fields_.push_back(std::make_unique<Field>(options, scan, field, reach));
  }

  bool next(FieldRow& row) override {
    if (!texts_->next(text_)) return false;
    row.record = text_.record;
    row.text.reset();
    if (!text_.tokenized) row.text = text_.utf8;
    row.fields.clear();
    for (const auto& field : fields_) row.fields.push_back(field->value(text_));
    return true;
  }

  void finish() override {
    for (const auto& field : fields_) field->finish();
  }

 private:
  std::unique_ptr<ScannedTexts> texts_;
  std::vector<std::unique_ptr<Field>> fields_;  // an open file refers to its Field
  Text text_;
};

// Goes through the rows of a scan and hashes their fields, block by block.
class BlockHashes {
 public:
  explicit BlockHashes(const InputScan& scan)
      : scan_(scan), row_(scan.checkpoints.empty() ? scan.end_row : scan.checkpoints.front().row) {}

  int64_t row() const { return row_; }  // the next row
  // Adds the next row. Returns true if it is the last one of its block; hash() is then complete.
  bool add(const FieldRow& row) {
    if (ended_) {
      hash_ = Xxh3();
      ++block_;
    }
    for (const std::optional<std::string>& field : row.fields) {
      const int64_t bytes = field ? std::ssize(*field) : -1;
      hash_.update(&bytes, sizeof bytes);
      if (field) hash_.update(field->data(), field->size());
    }
    const bool last = block_ + 1 == scan_.checkpoints.size();
    ended_ = ++row_ == (last ? scan_.end_row : scan_.checkpoints[block_ + 1].row);
    return ended_;
  }
  size_t block() const { return block_; }
  std::array<std::byte, 16> hash() const { return hash_.bytes(); }

 private:
  const InputScan& scan_;
  int64_t row_;
  size_t block_ = 0;
  bool ended_ = false;  // the last row was the last one of its block
  Xxh3 hash_;
};

class CheckedFields final : public ScannedFields {
 public:
  CheckedFields(const InputOptions& options, const FieldsOfRows& wanted,
                const std::vector<std::string>& fields)
      : wanted_(wanted),
        checked_(!fields.empty()),
        reader_(options, wanted.scan, fields, Reach::kBlocks),
        hashes_(wanted.scan) {}

  bool next(FieldRow& row) override {
    while (hashes_.row() < wanted_.rows.end) {
      const bool is_wanted = hashes_.row() >= wanted_.rows.begin;
      if (!read(row)) return false;
      if (is_wanted) return true;
    }
    return false;
  }

  // The last block may have rows of the next shard.
  void finish() override {
    FieldRow row;
    while (read(row)) {
    }
  }

 private:
  bool read(FieldRow& row) {
    if (hashes_.row() >= wanted_.scan.end_row || !reader_.next(row)) return false;
    if (!hashes_.add(row) || !checked_ || hashes_.hash() == wanted_.blocks[hashes_.block()])
      return true;
    const InputScan::Checkpoint& block = wanted_.scan.checkpoints[hashes_.block()];
    throw changed_in_run(wanted_.scan.files[static_cast<size_t>(block.file)].path, kInputChanged,
                         fmt::format("the columns of rows {} to {} as the plan of the shards has "
                                     "read them",
                                     block.row, hashes_.row() - 1),
                         "other values");
  }

  const FieldsOfRows wanted_;
  bool checked_;
  FieldReader reader_;
  BlockHashes hashes_;
};

constexpr int64_t kMostSearched = 1000;  // records

// Returns how many records of a file of JSON were read, up to kMostSearched, and found to lack the
// field; 0 if one of them has it.
int64_t records_without_field(InputFile& file) {
  Record record;
  int64_t records = 0;
  while (records < kMostSearched && file.next(record)) {
    ++records;
    if (record.problem.code != "jsonl.missing") return 0;
  }
  return records;
}

// Throws unless one of the first records of a file of JSON has the field.
void require_in_records(InputFile& file, const InputOptions& options) {
  const int64_t records = records_without_field(file);
  if (records == 0) return;
  throw Error({.code = "output.column",
               .what = fmt::format("no row has the field '{}'", preview(options.field)),
               .where = options.path,
               .expected = fmt::format("'{}' in one of the first {} rows", preview(options.field),
                                       format_count(kMostSearched)),
               .found = fmt::format("it is missing in all of the first {}; the first has {}",
                                    format_count(records), list_fields(options)),
               .hint = "correct --columns (output.columns in the config): row and text are known, "
                       "and every other name is a "
                       "field of the input"});
}

// Returns those of the fields that none of the first records of a file of JSON has.
std::vector<std::string> unseen_of(const std::vector<std::string>& fields,
                                   const InputOptions& options, const InputScan& scan) {
  std::vector<std::string> unseen;
  for (const std::string& field : fields) {
    InputOptions of_file = options_for(options, field);
    of_file.path = scan.files.front().path;
    if (facts_of(resolve_format(of_file).format).columns) break;
    const std::unique_ptr<InputFile> file = open_input_file(of_file, reading_of(/*hashed=*/false));
    if (records_without_field(*file) > 0) unseen.push_back(field);
  }
  return unseen;
}

}  // namespace

std::unique_ptr<ScannedFields> open_scanned_fields(const InputOptions& options,
                                                   const InputScan& scan,
                                                   const std::vector<std::string>& fields) {
  return std::make_unique<FieldReader>(options, scan, fields, Reach::kWholeFiles);
}

FieldBlocks hash_fields(const InputOptions& options, const InputScan& scan,
                        const std::vector<std::string>& fields) {
  FieldBlocks blocks;
  FieldReader reader(options, scan, fields, Reach::kWholeFiles);
  BlockHashes hashes(scan);
  for (FieldRow row; reader.next(row);) {
    if (hashes.add(row)) blocks.push_back(hashes.hash());
  }
  reader.finish();
  return blocks;
}

std::unique_ptr<ScannedFields> open_fields_of_rows(const InputOptions& options,
                                                   const FieldsOfRows& wanted,
                                                   const std::vector<std::string>& fields) {
  return std::make_unique<CheckedFields>(options, wanted, fields);
}

void require_fields(const InputOptions& options, const InputScan& scan,
                    const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    InputOptions of_file = options_for(options, field);
    for (const InputScan::File& part : scan.files) {
      of_file.path = part.path;
      const std::unique_ptr<InputFile> file =
          open_input_file(of_file, reading_of(/*hashed=*/false));
      if (facts_of(resolve_format(of_file).format).columns) continue;
      require_in_records(*file, of_file);
      break;
    }
  }
}

std::vector<std::string> unseen_fields(const InputOptions& options, const InputScan& scan) {
  if (options.missing_field == MissingFieldPolicy::kError) return {};
  return unseen_of(fields_of(options), options, scan);
}

std::vector<std::string> unseen_filter_fields(const InputOptions& options, const InputScan& scan) {
  if (!options.filter.any() || options.filter.reads_other_input()) return {};
  return unseen_of(WhereFilter(options.filter.where).fields(), options, scan);
}

}  // namespace encode
