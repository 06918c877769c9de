// Compares final matrices of every type with the results of sentence-transformers and NumPy for the
// same numbers. tests/data/README.md names the script that makes these results.
#include "store/quantize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/npy_reader.h"
#include "base/output_types.h"
#include "fake_job.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::string golden(const std::string& name) {
  return test_data("sentence_transformers/quantized/" + name + ".npy");
}

std::string values_of(const std::string& path) {
  return read_bytes(path).substr(static_cast<size_t>(read_npy_header(path).data_offset));
}

struct Source {
  explicit Source(const std::string& name) : dim(read_npy_header(golden(name)).cols) {
    const std::string bytes = values_of(golden(name));
    rows.resize(bytes.size() / sizeof(float));
    std::memcpy(rows.data(), bytes.data(), bytes.size());
  }
  int64_t dim;
  std::vector<float> rows;
};

// Quantizes rows in blocks, as the store does, with the ranges of all rows.
std::string quantized(const Source& source, OutputType type, Ranges ranges) {
  const Quantizer quantizer(type, source.dim, ranges);
  std::string all;
  std::vector<std::byte> bytes;
  const auto block = static_cast<size_t>(7 * source.dim);
  for (size_t at = 0; at < source.rows.size(); at += block) {
    const std::span<const float> rows(source.rows);
    quantizer.convert(rows.subspan(at, std::min(block, rows.size() - at)), bytes);
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

std::string quantized(const Source& source, OutputType type) {
  Ranges ranges(source.dim);
  ranges.widen(source.rows);
  return quantized(source, type, ranges);
}

class Quantized : public ::testing::TestWithParam<OutputType> {};

TEST_P(Quantized, ByteEqualToSentenceTransformers) {
  const std::string name(to_string(GetParam()));
  const Source source("embeddings");
  EXPECT_EQ(quantized(source, GetParam()), values_of(golden(name)));
  const NpyHeader header = read_npy_header(golden(name));
  EXPECT_EQ(header.item, facts_of(GetParam()).item);
  EXPECT_EQ(header.cols, output_columns(GetParam(), source.dim));
}

// Shows that the comparison with the golden file can fail.
TEST_P(Quantized, AnotherNumberGivesOtherBytes) {
  Source source("embeddings");
  source.rows[1] = -source.rows[1];
  EXPECT_NE(quantized(source, GetParam()), values_of(golden(std::string(to_string(GetParam())))));
}

INSTANTIATE_TEST_SUITE_P(Types, Quantized,
                         ::testing::Values(OutputType::kInt8, OutputType::kUint8,
                                           OutputType::kBinary, OutputType::kUbinary),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(Quantizer, GivenRangesClipWhatIsOutside) {
  const Source source("embeddings");
  const Ranges ranges = Ranges::read(golden("given_ranges"), source.dim);
  EXPECT_EQ(quantized(source, OutputType::kInt8, ranges), values_of(golden("given_int8")));
}

TEST(Quantizer, Float16IsNumPys) {
  EXPECT_EQ(quantized(Source("float16_source"), OutputType::kFloat16),
            values_of(golden("float16")));
}

// The formula of docs/store-format.md.
TEST(Dequantizer, IntegersAreTheMiddlesOfTheirBuckets) {
  const Source source("embeddings");
  Ranges ranges(source.dim);
  ranges.widen(source.rows);
  for (const OutputType type : {OutputType::kInt8, OutputType::kUint8}) {
    std::vector<float> values;
    for (const char item : quantized(source, type)) {
      const auto byte = static_cast<uint8_t>(item);
      values.push_back(type == OutputType::kUint8
                           ? static_cast<float>(byte)
                           : static_cast<float>(std::bit_cast<int8_t>(byte)));
    }
    const std::vector<float> items = values;
    Dequantizer(type, ranges).convert(values);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t column = i % static_cast<size_t>(source.dim);
      const float lowest = ranges.lowest()[column];
      const float step = (ranges.highest()[column] - lowest) / 255;
      const float bucket = items[i] + (type == OutputType::kInt8 ? 128.0F : 0.0F);
      EXPECT_EQ(values[i], lowest + (bucket + 0.5F) * step);
    }
  }
}

TEST(Dequantizer, AnIntegerIsHalfAStepFromItsValueAtMost) {
  const Source source("embeddings");
  Ranges ranges(source.dim);
  ranges.widen(source.rows);
  for (const auto& [name, type] : kOutputTypes) {
    if (!has_ranges(type)) continue;
    const std::string stored = quantized(source, type);
    std::vector<float> buffer;
    as_floats({.bytes = std::as_bytes(std::span(stored)), .type = type, .dim = source.dim}, buffer);
    ASSERT_EQ(buffer.size(), source.rows.size()) << name;
    Dequantizer(type, ranges).convert(buffer);
    const auto steps = static_cast<double>((int64_t{1} << facts_of(type).bits) - 1);
    for (size_t i = 0; i < buffer.size(); ++i) {
      const size_t column = i % static_cast<size_t>(source.dim);
      const double width = static_cast<double>(ranges.highest()[column]) - ranges.lowest()[column];
      constexpr double kLeastNormal = 1e-37;  // a step below it has few digits
      ASSERT_NEAR(buffer[i], source.rows[i], 0.5001 * width / steps + kLeastNormal) << name;
    }
  }
}

TEST(Dequantizer, BitsAreSignsAndFloatsStay) {
  std::vector<float> bits = {0, 1, 1};
  Dequantizer(OutputType::kBinary, Ranges(0)).convert(bits);
  EXPECT_THAT(bits, ::testing::ElementsAre(-1, 1, 1));
  std::vector<float> floats = {0.25F, -7};
  Dequantizer(OutputType::kFloat16, Ranges(0)).convert(floats);
  EXPECT_THAT(floats, ::testing::ElementsAre(0.25F, -7));
}

TEST(Ranges, AreSavedAsNumPySavesThem) {
  const Source source("embeddings");
  Ranges ranges(source.dim);
  ranges.widen(source.rows);
  const TempDir dir;
  dir.write("ranges.npy", ranges.npy_bytes());
  const Source theirs("ranges");
  NpyReader ours(dir.file("ranges.npy"));
  const std::span<const float> values = ours.next(2);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), theirs.rows.begin(), theirs.rows.end()));
}

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.detail().expected.empty()) << error.detail().what;
    return std::string(error.detail().code.name());
  }
  return "accepted";
}

TEST(Ranges, OfAnotherShapeOrOrderAreRefused) {
  EXPECT_EQ(code_of([] { Ranges::read(golden("given_ranges"), 20); }), "store.ranges");
  EXPECT_EQ(code_of([] { Ranges::read(golden("embeddings"), 21); }), "store.ranges");
  EXPECT_EQ(code_of([] { Ranges::read(golden("int8"), 21); }), "store.ranges");
  const TempDir dir;
  const std::array<float, 2> upside_down = {1, -1};
  dir.write("ranges.npy",
            make_npy_header(2, 1, ItemType::kFloat32) +
                std::string(reinterpret_cast<const char*>(upside_down.data()), sizeof upside_down));
  EXPECT_EQ(code_of([&] { Ranges::read(dir.file("ranges.npy"), 1); }), "store.ranges");
}

TEST(Ranges, TooWideForFloat32AreRefused) {
  Ranges ranges(1);
  ranges.widen(std::array{3e38F, -3e38F});
  EXPECT_EQ(code_of([&] { ranges.npy_bytes(); }), "store.ranges");
}

// A finished job of 30 rows in chunks of 4 rows. The shape of the final matrix is [30, 4].
class FinalTypes : public ::testing::Test {
 protected:
  FinalTypes() {
    job_.keep_chunks = true;
    run_fake_job(dir_.path(), job_);
  }
  void assemble(const FinalFormat& format) const {
    ChunkStore::open(dir_.path(), job_.identity, job_.chunk_rows, ChunkStore::Open::kResume)
        ->assemble(path_, {.format = format}, {});
  }
  // Returns the values of the final matrix, quantized from all rows in one call.
  std::string expected(OutputType type) const {
    Ranges ranges(job_.identity.dim);
    const std::vector<float> rows = fake_rows({0, 30}, job_.identity.dim);
    ranges.widen(rows);
    std::vector<std::byte> bytes;
    Quantizer(type, job_.identity.dim, ranges).convert(rows, bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  TempDir dir_;
  FakeJob job_;
  std::string path_ = job_.final_path(dir_.path());
};

TEST_F(FinalTypes, RangesAreThoseOfAllRowsNotOfAChunk) {
  for (const auto& [name, type] : kOutputTypes) {
    assemble({.type = type, .ranges_file = ""});
    EXPECT_EQ(values_of(path_), expected(type)) << name;
    EXPECT_EQ(final_state(path_, job_.identity, true), FinalState::kValid) << name;
    EXPECT_EQ(std::filesystem::exists(ranges_path(path_)), has_ranges(type)) << name;
    const Manifest manifest = read_manifest(path_).value();
    EXPECT_EQ(manifest.type, type);
    EXPECT_EQ(manifest.identity.dim, 4);
  }
}

TEST_F(FinalTypes, AnotherTypeOrOtherRangesAreAnotherFormat) {
  const FinalFormat int8 = {.type = OutputType::kInt8, .ranges_file = ""};
  assemble(int8);
  const Manifest manifest = read_manifest(path_).value();
  EXPECT_TRUE(has_format(manifest, int8));
  EXPECT_FALSE(has_format(manifest, {.type = OutputType::kUint8, .ranges_file = ""}));
  FinalFormat given = int8;
  given.ranges_file = dir_.file("given.npy");
  std::filesystem::copy(ranges_path(path_), given.ranges_file);
  EXPECT_FALSE(has_format(manifest, given));
  assemble(given);
  EXPECT_TRUE(has_format(read_manifest(path_).value(), given));
  Ranges other(4);
  other.widen(std::array{0.0F, 0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F});
  dir_.write("given.npy", other.npy_bytes());
  EXPECT_FALSE(has_format(read_manifest(path_).value(), given));
}

TEST_F(FinalTypes, DamagedOrMissingRangesMakeTheFinalInvalid) {
  assemble({.type = OutputType::kInt8, .ranges_file = ""});
  std::string bytes = read_bytes(ranges_path(path_));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(ranges_path(path_), bytes);
  EXPECT_EQ(final_state(path_, job_.identity, false), FinalState::kDamaged);
  std::filesystem::remove(ranges_path(path_));
  EXPECT_EQ(final_state(path_, job_.identity, false), FinalState::kDamaged);
}

TEST_F(FinalTypes, RangesOfAFinalAreThoseOfItsManifest) {
  assemble({.type = OutputType::kInt8, .ranges_file = ""});
  const Manifest manifest = read_manifest(path_).value();
  const std::vector<float> rows = fake_rows({0, 30}, 4);
  for (size_t column = 0; column < 4; ++column) {
    float lowest = rows[column];
    for (size_t row = 0; row < 30; ++row) lowest = std::min(lowest, rows[4 * row + column]);
    EXPECT_EQ(Ranges::of_final(path_, manifest).lowest()[column], lowest);
  }
  std::string bytes = read_bytes(ranges_path(path_));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(ranges_path(path_), bytes);
  EXPECT_EQ(code_of([&] { Ranges::of_final(path_, manifest); }), "store.damaged");
  std::filesystem::remove(ranges_path(path_));
  EXPECT_EQ(code_of([&] { Ranges::of_final(path_, manifest); }), "store.damaged");
}

TEST_F(FinalTypes, AnyTypeIsMadeOfAFloat32FinalInItsOwnPlace) {
  assemble({});
  reformat_final(path_, path_, {.type = OutputType::kUint8, .ranges_file = ""}, {});
  EXPECT_EQ(values_of(path_), expected(OutputType::kUint8));
  EXPECT_EQ(code_of([&] { reformat_final(path_, path_, {}, {}); }), "store.damaged");
}

TEST_F(FinalTypes, CombinedColumnsAreOfOneType) {
  FakeJob other = job_;
  other.identity.name = "train_commit";
  other.identity.dim = 11;
  run_fake_job(dir_.path(), other);
  const std::vector<std::string> parts = {path_, other.final_path(dir_.path())};
  const std::string combined = dir_.file("combined.npy");
  for (const OutputType type : {OutputType::kInt8, OutputType::kBinary, OutputType::kFloat16}) {
    const FinalFormat format = {.type = type, .ranges_file = ""};
    assemble(format);
    ChunkStore::open(dir_.path(), other.identity, 4, ChunkStore::Open::kResume)
        ->assemble(parts[1], {.format = format}, {});
    combine_finals(parts, combined, "combined");
    const int64_t columns = output_columns(type, 4) + output_columns(type, 11);
    EXPECT_EQ(read_npy_header(combined).cols, columns);
    EXPECT_EQ(final_state(combined, combined_identity(parts, "combined"), true),
              FinalState::kValid);
    const std::string first_row = values_of(parts[0]).substr(
        0, static_cast<size_t>(output_columns(type, 4) * read_npy_header(combined).item_bytes()));
    EXPECT_TRUE(values_of(combined).starts_with(first_row));
    EXPECT_EQ(std::filesystem::exists(ranges_path(combined)), has_ranges(type));
  }
  assemble({});
  EXPECT_EQ(code_of([&] { combine_finals(parts, combined, "combined"); }), "store.combine_type");
}

}  // namespace
}  // namespace encode::testing
