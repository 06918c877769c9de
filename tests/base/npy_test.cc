#include "base/npy.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/refused.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::refused;
using testing::TempDir;
using testing::test_data;

// Returns a .npy file with the header `dictionary`, padded as NumPy pads it, and with `data_bytes`
// bytes of data.
std::string file_with(std::string dictionary, size_t data_bytes) {
  dictionary.resize(117, ' ');
  dictionary += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size());
  file += '\0';
  return file + dictionary + std::string(data_bytes, '\0');
}

constexpr std::string_view kGood = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(NpyHeader, ReadsWhatNumPyWrote) {
  const NpyHeader header = read_npy_header(test_data("minilm/embeddings.npy"));
  EXPECT_EQ(header.item, ItemType::kFloat32);
  EXPECT_EQ(header.rows, 100);
  EXPECT_EQ(header.cols, 384);
  EXPECT_EQ(header.data_offset, 128);
}

TEST(NpyHeader, IsWrittenByteForByteAsNumPyWritesIt) {
  const std::string numpy = testing::read_bytes(test_data("minilm/embeddings.npy")).substr(0, 128);
  EXPECT_EQ(make_npy_header(100, 384, ItemType::kFloat32), numpy);
}

TEST(NpyHeader, IsAsLongForTheLargestMatrixAsForTheSmallest) {
  for (const auto& [name, item] : kItemTypes) {
    EXPECT_EQ(make_npy_header(0, 1, item).size(), size_t{kNpyHeaderBytes});
    EXPECT_EQ(make_npy_header(INT64_MAX, INT64_MAX, item).size(), size_t{kNpyHeaderBytes});
  }
}

TEST(NpyHeader, ComesBackAsWritten) {
  const TempDir dir;
  for (const auto& [name, item] : kItemTypes) {
    const auto bytes = static_cast<size_t>(2 * 3 * facts_of(item).bytes);
    const std::string path =
        dir.write("a.npy", make_npy_header(2, 3, item) + std::string(bytes, 'x'));
    const NpyHeader header = read_npy_header(path);
    EXPECT_EQ(header.rows, 2);
    EXPECT_EQ(header.cols, 3);
    EXPECT_EQ(facts_of(header.item).name, name);
    EXPECT_EQ(header.file_bytes(), static_cast<int64_t>(std::filesystem::file_size(path)));
  }
}

TEST(NpyHeader, AcceptsNoRows) {
  const TempDir dir;
  EXPECT_EQ(read_npy_header(dir.write("a.npy", make_npy_header(0, 384, ItemType::kFloat32))).rows,
            0);
}

TEST(NpyHeader, RefusesDamagedFiles) {
  const std::string good = file_with(std::string(kGood), 24);
  std::string version2 = good;
  version2[6] = 2;
  std::string long_header = good;
  long_header[9] = '\x7f';
  const std::vector<std::string> files = {"",        "\x93NUMPY", "PK\x03\x04 something else",
                                          version2,  long_header, good.substr(0, good.size() - 1),
                                          good + "x"};
  const TempDir dir;
  // Shows that the file is valid before it is damaged.
  EXPECT_NO_THROW(read_npy_header(dir.write("good.npy", good)));
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = dir.write("a.npy", files[i]);
    const auto error = refused([&] { read_npy_header(path); });
    EXPECT_EQ(error.exit_code, ExitCode::kData) << i;
    EXPECT_EQ(error.code.name(), "npy.header") << i;
    EXPECT_EQ(error.where, path) << i;
  }
}

TEST(NpyHeader, NamesTheElementTypesThatItReads) {
  const TempDir dir;
  const std::string path = dir.write(
      "a.npy", file_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48));
  const auto error = refused([&] { read_npy_header(path); });
  EXPECT_EQ(error.expected, "'<f4' (float32), '<f2' (float16), '|i1' (int8) or '|u1' (uint8)");
  EXPECT_EQ(error.found, "'<f8'");
}

TEST(NpyHeader, RefusesOtherMatrices) {
  const std::vector<std::string> dictionaries = {
      "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
      "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
      "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951, 1), }",
      "{'descr': '<f4', 'fortran_order': False, }",
      "{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } + __import__('os')",
      "{}",
      ""};
  const TempDir dir;
  for (const std::string& dictionary : dictionaries) {
    const std::string path = dir.write("a.npy", file_with(dictionary, 24));
    EXPECT_EQ(refused([&] { read_npy_header(path); }).exit_code, ExitCode::kData) << dictionary;
  }
}

}  // namespace
}  // namespace encode
