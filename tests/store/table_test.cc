// Tests of final matrices that are tables: Arrow C++ reads them back, and MatrixReader reads them.
#include "columnar/table.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"
#include "columnar/matrix_reader.h"
#include "read_table.h"
#include "store/fake_job.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Texts = std::vector<std::optional<std::string>>;

// The bytes of the rows of a .npy file.
std::string npy_rows(const std::string& path) { return read_bytes(path).substr(128); }

std::vector<int64_t> numbers_up_to(int64_t rows) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class Table : public ::testing::TestWithParam<MatrixFormat> {
 protected:
  FinalFormat format(OutputType type) const {
    return {.type = type,
            .ranges_file = "",
            .file = GetParam(),
            .columns = {{kRowColumn, kRowColumn}, {kTextColumn, kTextColumn}}};
  }
  FinalContent content(OutputType type) const {
    FinalContent content;
    content.format = format(type);
    content.columns = fake_texts();
    return content;
  }
  std::string path(const std::string& name) const {
    return dir_.file(name + suffix_of(GetParam()));
  }
  // Commits all chunks of a job.
  std::unique_ptr<ChunkStore> encoded(const FakeJob& job) const {
    auto store = ChunkStore::open(dir_.path(), job.identity, job.chunk_rows, job.open);
    for (const int64_t index : store->pending()) commit_chunk(*store, index, job);
    return store;
  }

  const TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Formats, Table,
                         ::testing::Values(MatrixFormat::kParquet, MatrixFormat::kArrow),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(Table, HasTheBitsOfTheNpyFileInEveryType) {
  FakeJob job;
  job.identity.dim = 12;
  const auto store = encoded(job);
  const std::map<ItemType, std::shared_ptr<arrow::DataType>> items = {
      {ItemType::kFloat32, arrow::float32()},
      {ItemType::kFloat16, arrow::float16()},
      {ItemType::kInt8, arrow::int8()},
      {ItemType::kUint8, arrow::uint8()}};
  for (const auto& [name, type] : kOutputTypes) {
    FinalContent npy;
    npy.format.type = type;
    store->assemble(dir_.file("a.npy"), npy, {});
    store->assemble(path("b"), content(type), {});
    const auto table = read_table(path("b"));
    EXPECT_EQ(vector_bytes(*table), npy_rows(dir_.file("a.npy"))) << name;
    const auto& list = static_cast<const arrow::FixedSizeListType&>(
        *table->schema()->GetFieldByName("embedding")->type());
    EXPECT_TRUE(list.value_type()->Equals(items.at(facts_of(type).item))) << list.ToString();
    EXPECT_EQ(list.list_size(), output_columns(type, job.identity.dim));
    EXPECT_EQ(numbers_of(*table, "row"), numbers_up_to(job.identity.rows));
    EXPECT_THAT(table->ColumnNames(), ElementsAre("row", "text", "embedding"));
    const auto metadata = table->schema()->metadata();
    EXPECT_EQ(metadata->Get("encode.output_dtype").ValueOr(""), name);
    EXPECT_EQ(metadata->Get("encode.dim").ValueOr(""), "12");
    EXPECT_EQ(final_state(path("b"), job.identity, true), FinalState::kValid);
  }
}

TEST_P(Table, HasTextsAndNulls) {
  const FakeJob job = table_job(GetParam());
  write_bytes(path("b"), job.table);
  Texts expected;
  for (int64_t row = 0; row < job.identity.rows; ++row) expected.push_back(fake_text(row));
  EXPECT_EQ(texts_of(*read_table(path("b")), "text"), expected);
}

TEST_P(Table, EqualRowsGiveEqualBytes) {
  FakeJob job;
  job.chunk_rows = 7;
  encoded(job)->assemble(path("b"), content(OutputType::kFloat32), {});
  EXPECT_EQ(read_bytes(path("b")), table_job(GetParam()).table) << "whatever the size of a chunk";
}

TEST_P(Table, WithoutRowsIsATable) {
  FakeJob job;
  job.identity.rows = 0;
  encoded(job)->assemble(path("b"), content(OutputType::kFloat32), {});
  EXPECT_EQ(read_table(path("b"))->num_rows(), 0);
  const auto reader = open_matrix_reader(path("b"), Elements::kFloat32);
  EXPECT_EQ(reader->rows(), 0);
  EXPECT_EQ(reader->dim(), 4);
  EXPECT_TRUE(reader->next(10).empty());
}

// The rows 5, 6 and 29 are dropped: their numbers and texts are missing.
TEST_P(Table, LacksDroppedRows) {
  FakeJob job;
  job.set_aside = {5, 6, 29};
  const auto store = encoded(job);
  FinalContent dropped = content(OutputType::kFloat32);
  dropped.quarantine = QuarantinePolicy::kDrop;
  dropped.set_aside = store->set_aside();
  store->assemble(path("b"), dropped, {});
  std::vector<int64_t> rows = numbers_up_to(30);
  std::erase_if(rows, [](int64_t row) { return row == 5 || row == 6 || row == 29; });
  const auto table = read_table(path("b"));
  EXPECT_EQ(numbers_of(*table, "row"), rows);
  Texts expected;
  for (const int64_t row : rows) expected.push_back(fake_text(row));
  EXPECT_EQ(texts_of(*table, "text"), expected);
  // A table of another format that is made from this table has the same gaps.
  reformat_final(path("b"), path("c"), format(OutputType::kFloat16), fake_texts());
  EXPECT_EQ(numbers_of(*read_table(path("c")), "row"), rows);
}

// A large text in each row makes many groups.
class LargeTexts final : public ColumnSource {
 public:
  void next(std::vector<std::optional<std::string>>& values) override {
    values = {std::string(size_t{5} << 20, static_cast<char>('a' + row_++ % 26))};
  }
  int64_t source_row() const override { return 0; }
  void finish() override {}

 private:
  int64_t row_ = 0;
};

TEST_P(Table, IsWrittenInGroupsOfBoundedSize) {
  FakeJob job;
  FinalContent large = content(OutputType::kFloat32);
  large.columns = [] { return std::make_unique<LargeTexts>(); };
  encoded(job)->assemble(path("b"), large, {});
  const Texts texts = texts_of(*read_table(path("b")), "text");
  ASSERT_EQ(texts.size(), 30U);
  EXPECT_EQ(texts[27]->front(), 'b');
  if (GetParam() == MatrixFormat::kParquet) {
    EXPECT_EQ(row_groups(path("b")), 5) << "seven texts of 5 MiB are more than 32 MiB";
  }
  const auto reader = open_matrix_reader(path("b"), Elements::kFloat32);
  EXPECT_EQ(reader->next(100).size(), 30U * 4);
}

class ChangedTexts final : public ColumnSource {
 public:
  void next(std::vector<std::optional<std::string>>& values) override { values = {"x"}; }
  int64_t source_row() const override { return 0; }
  void finish() override {
    throw Error({.code = "text.changed",
                 .exit_code = ExitCode::kIoError,
                 .what = "changed",
                 .where = "",
                 .expected = "",
                 .found = "",
                 .hint = ""});
  }
};

TEST_P(Table, IsNotPublishedIfTheInputChanged) {
  FinalContent changed = content(OutputType::kFloat32);
  changed.columns = [] { return std::make_unique<ChangedTexts>(); };
  const auto store = encoded(FakeJob());
  EXPECT_EQ(refused([&] { store->assemble(path("b"), changed, {}); }).code.name(), "text.changed");
  EXPECT_FALSE(std::filesystem::exists(path("b")));
  EXPECT_FALSE(read_manifest(path("b")).has_value());
}

TEST_P(Table, BecomesANpyFileWithTheSameBits) {
  const FakeJob job;
  const auto store = encoded(job);
  store->assemble(path("b"), content(OutputType::kFloat32), {});
  reformat_final(path("b"), dir_.file("c.npy"), {}, {});
  EXPECT_EQ(read_bytes(dir_.file("c.npy")), expected_final(job));
  EXPECT_TRUE(has_format(*read_manifest(dir_.file("c.npy")), {}));
  EXPECT_FALSE(has_format(*read_manifest(path("b")), {})) << "another file format";
  FinalFormat columns = format(OutputType::kFloat32);
  EXPECT_TRUE(has_format(*read_manifest(path("b")), columns));
  columns.columns.back().source = "another";
  EXPECT_FALSE(has_format(*read_manifest(path("b")), columns)) << "the values of another field";
  columns.columns.pop_back();
  EXPECT_FALSE(has_format(*read_manifest(path("b")), columns)) << "other columns";
}

TEST_P(Table, IsAPartOfACombinedMatrix) {
  const FakeJob job;
  const auto store = encoded(job);
  store->assemble(dir_.file("a.npy"), {}, {});
  store->assemble(path("b"), content(OutputType::kFloat32), {});
  combine_finals({dir_.file("a.npy"), path("b")}, dir_.file("mixed.npy"), "combined");
  combine_finals({dir_.file("a.npy"), dir_.file("a.npy")}, dir_.file("plain.npy"), "combined");
  EXPECT_EQ(read_bytes(dir_.file("mixed.npy")), read_bytes(dir_.file("plain.npy")));
}

// Reads all rows in blocks of three.
std::string rows_by(MatrixReader& reader) {
  std::string bytes;
  for (auto block = reader.next_bytes(3); !block.empty(); block = reader.next_bytes(3))
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size());
  return bytes;
}

TEST_P(Table, IsReadInBlocks) {
  const FakeJob job = table_job(GetParam());
  write_bytes(path("b"), job.table);
  const auto reader = open_matrix_reader(path("b"), Elements::kFloat32);
  EXPECT_EQ(reader->format(), GetParam());
  EXPECT_EQ(reader->rows(), 30);
  EXPECT_EQ(reader->item(), ItemType::kFloat32);
  EXPECT_THAT(reader->columns(), ElementsAre("row", "text"));
  EXPECT_EQ(rows_by(*reader), expected_matrix(FakeJob(), {0, 30}).substr(128));
  EXPECT_EQ(reader->xxh3_hex(), xxh3_hex(job.table));
  EXPECT_EQ(reader->file_bytes(), std::ssize(job.table));
}

// The texts and the numbers of single rows, as a search shows them.
TEST_P(Table, OtherColumnsAreReadRowByRow) {
  write_bytes(path("b"), table_job(GetParam()).table);
  FileBytes file(path("b"));
  const TextFormat format =
      GetParam() == MatrixFormat::kParquet ? TextFormat::kParquet : TextFormat::kArrow;
  for (const char* column : {kTextColumn, kRowColumn}) {
    const auto reader = open_column(file, {.format = format,
                                           .path = path("b"),
                                           .column = column,
                                           .values = ColumnRequest::Values::kAny});
    ColumnValue value;
    reader->seek(21);
    ASSERT_TRUE(reader->next(value));
    EXPECT_EQ(value.text, column == std::string(kTextColumn) ? "text of row 21" : "21");
  }
}

// A file that is cut off is an Error. A changed byte is an Error, or it is at a place that only the
// hash of the file covers; the next test computes the hash.
TEST_P(Table, DamageIsAnError) {
  const FakeJob job = table_job(GetParam());
  const auto read = [&](const std::string& bytes) {
    write_bytes(path("damaged"), bytes);
    return refused([&] {
      const auto reader = open_matrix_reader(path("damaged"), Elements::kFloat32);
      rows_by(*reader);
    });
  };
  for (size_t size = 0; size < job.table.size(); size += 7) {
    const ErrorDetail error = read(job.table.substr(0, size));
    EXPECT_EQ(error.exit_code, ExitCode::kData) << size << ": " << error.what;
  }
  for (size_t at = 0; at < job.table.size(); at += 3) {
    std::string bytes = job.table;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const ErrorDetail error = read(bytes);
    const bool told = error.exit_code == ExitCode::kData || !error.code;
    EXPECT_TRUE(told) << at << ": " << error.code.name();
  }
}

TEST_P(Table, AChangedByteIsSeenWhereverItIs) {
  const FakeJob job = table_job(GetParam());
  run_fake_job(dir_.path(), job);
  const std::string final = job.final_path(dir_.path());
  ASSERT_EQ(final_state(final, job.identity, true), FinalState::kValid);
  constexpr size_t kStep = 11;  // every byte would take minutes
  for (size_t at = 0; at < job.table.size(); at += kStep) {
    std::string bytes = job.table;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_bytes(final, bytes);
    EXPECT_EQ(final_state(final, job.identity, true), FinalState::kDamaged) << at;
  }
  write_bytes(final, job.table.substr(1));
  EXPECT_EQ(final_state(final, job.identity, false), FinalState::kDamaged) << "its size";
}

TEST_P(Table, FileWithoutVectorsIsNoMatrix) {
  const std::string name = GetParam() == MatrixFormat::kParquet ? "texts.parquet" : "texts.feather";
  const ErrorDetail error =
      refused([&] { open_matrix_reader(test_data("arrow/" + name), Elements::kAny); });
  EXPECT_EQ(error.code.name(), "arrow.vectors");
  EXPECT_THAT(error.expected, HasSubstr("embedding"));
}

class Discard final : public ByteSink {
 public:
  void write(std::span<const char> /*bytes*/) override {}
};

// A column with fewer values than rows would be a defect of encode.
TEST_P(Table, ArrowRefusesRowsThatDoNotFit) {
  Discard sink;
  const auto writer = open_table_writer(sink, {.parquet = GetParam() == MatrixFormat::kParquet,
                                               .path = "x",
                                               .item = ItemType::kFloat32,
                                               .items = 1,
                                               .columns = {{.name = "text"}}});
  TableRows rows;
  rows.rows = 2;
  rows.vectors.resize(8);
  rows.columns.resize(1);
  rows.columns[0].offsets = {0, 0};
  rows.columns[0].present = {1};
  EXPECT_EQ(refused([&] { writer->write(rows); }).code.name(), "arrow.write");
}

}  // namespace
}  // namespace encode::testing
