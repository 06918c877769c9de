// Tests the file products.json: what is kept, what is searched, and what happens if the file is
// damaged or belongs to another device.
#include "job/product_book.h"

#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "store/sealed_json.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ProductShape shape(int64_t rows) {
  return {.rows = rows, .in_features = 64, .out_features = 64, .format = ProductFormat::kBFloat16};
}

// Asks a book for products of a made-up device.
class Book : public ::testing::Test {
 protected:
  std::vector<ProductFinding> choose(const std::vector<ProductShape>& shapes) {
    const ProductBook book(dir_.path(),
                           {.alive = [this] { ++alive_; },
                            .warn = [this](const std::string& text) { warnings_.push_back(text); },
                            .inform = [](const std::string&) {}});
    return book.choose(
        {.device = device_,
         .cublaslt = cublaslt_,
         .shapes = shapes,
         .search = [this](const ProductShape& each) { return search(each); },
         .can_compute = [this](const ProductShape&,
                               const ProductAlgorithm& each) { return each[1] != refused_; }});
  }

  // Each search finds another algorithm.
  ProductFinding search(const ProductShape& each) {
    ++searches_;
    if (!finds_) return {.suggestions = 3, .failed = 3};
    return {.algorithm = ProductAlgorithm{static_cast<uint64_t>(each.rows), ++next_},
            .milliseconds = 0.5,
            .first_milliseconds = 0.75,
            .suggestions = 4,
            .unequal_rows = 1};
  }

  std::string path() const { return dir_.file("products.json"); }

  testing::TempDir dir_;
  DeviceFacts device_ = {.kind = DeviceKind::kCuda,
                         .name = "NVIDIA H200",
                         .libtorch = "2.11.0",
                         .driver = "580.65.06"};
  int64_t cublaslt_ = 130100;
  uint64_t refused_ = 0;
  bool finds_ = true;
  uint64_t next_ = 0;
  int searches_ = 0;
  int alive_ = 0;
  std::vector<std::string> warnings_;
};

TEST_F(Book, KeepsWhatWasFound) {
  const auto first = choose({shape(512), shape(4096)});
  EXPECT_EQ(searches_, 2);
  EXPECT_GE(alive_, 2);
  EXPECT_EQ(choose({shape(512), shape(4096)}), first);
  EXPECT_EQ(choose({shape(4096)}), std::vector<ProductFinding>{first[1]});
  EXPECT_EQ(searches_, 2);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Book, SearchesOnlyWhatIsNew) {
  const auto first = choose({shape(512)});
  const auto both = choose({shape(256), shape(512)});
  EXPECT_EQ(both[1], first[0]);
  EXPECT_EQ(searches_, 2);
}

// LibTorch computes the product in the whole run, even if a later search would find an algorithm.
TEST_F(Book, KeepsThatNoAlgorithmWasGood) {
  finds_ = false;
  const auto first = choose({shape(512)});
  EXPECT_FALSE(first[0].algorithm);
  finds_ = true;
  EXPECT_EQ(choose({shape(512)}), first);
  EXPECT_EQ(searches_, 1);
}

TEST_F(Book, IsNotWrittenIfNothingIsNew) {
  choose({shape(512)});
  const auto written = std::filesystem::last_write_time(path());
  const std::string bytes = testing::read_bytes(path());
  std::filesystem::last_write_time(path(), written - std::chrono::hours(1));
  choose({shape(512)});
  EXPECT_EQ(std::filesystem::last_write_time(path()), written - std::chrono::hours(1));
  EXPECT_EQ(testing::read_bytes(path()), bytes);
}

TEST_F(Book, KeepsTheEntriesOfOtherDevicesAndVersions) {
  const auto first = choose({shape(512)});
  const DeviceFacts own = device_;
  const auto expect_another = [&] {
    EXPECT_NE(choose({shape(512)}), first);
    device_ = own;
    cublaslt_ = 130100;
    EXPECT_EQ(choose({shape(512)}), first);
  };
  device_.name = "NVIDIA H100";
  expect_another();
  device_.driver = "590.1";
  expect_another();
  device_.libtorch = "2.12.0";
  expect_another();
  cublaslt_ = 130200;
  expect_another();
  EXPECT_EQ(searches_, 5);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Book, SearchesAgainForAnAlgorithmThatIsRefused) {
  const auto first = choose({shape(512)});
  refused_ = first[0].algorithm->at(1);
  const auto second = choose({shape(512)});
  EXPECT_NE(second, first);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("does not take the algorithm"));
  EXPECT_EQ(choose({shape(512)}), second);
}

TEST_F(Book, OfDamagedFilesIsWrittenAnewAfterAWarning) {
  const auto first = choose({shape(512)});
  const std::string good = testing::read_bytes(path());
  const auto sealed = [](const Json& json) { return seal(json) + "\n"; };
  const Json entry = {{"device", device_.name},
                      {"driver", device_.driver},
                      {"libtorch", device_.libtorch},
                      {"cublaslt", cublaslt_}};
  Json wrong_entry = entry;
  wrong_entry["products"] = {{to_string(shape(512)), {{"algorithm", "12"}}}};
  Json no_hex = Json::parse(good).at("devices").at(0);
  no_hex["products"][to_string(shape(512))]["algorithm"] = std::string(128, 'x');
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  size_t warned = 0;
  for (const std::string& text :
       {std::string(), std::string("{}"), good.substr(0, good.size() / 2), flipped,
        sealed({{"format", 2}, {"devices", Json::array()}}), sealed({{"format", 1}}),
        sealed({{"format", 1}, {"devices", {1}}}), sealed({{"format", 1}, {"devices", {entry}}}),
        sealed({{"format", 1}, {"devices", {wrong_entry}}}),
        sealed({{"format", 1}, {"devices", {no_hex}}})}) {
    testing::write_bytes(path(), text);
    const int before = searches_;
    choose({shape(512)});
    EXPECT_EQ(searches_, before + 1) << text;
    ASSERT_EQ(warnings_.size(), ++warned) << text;
    EXPECT_THAT(warnings_.back(), HasSubstr("searched again"));
    choose({shape(512)});
    EXPECT_EQ(searches_, before + 1) << "the new file is whole";
  }
}

TEST_F(Book, IsNotWrittenIfTheSearchFails) {
  const ProductBook book(
      dir_.path(),
      {.alive = [] {}, .warn = [](const std::string&) {}, .inform = [](const std::string&) {}});
  const ProductRequest request = {
      .device = device_,
      .cublaslt = cublaslt_,
      .shapes = {shape(512)},
      .search = [](const ProductShape&) -> ProductFinding { throw std::runtime_error("device"); },
      .can_compute = [](const ProductShape&, const ProductAlgorithm&) { return true; }};
  EXPECT_THROW(book.choose(request), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Book, ThatCannotBeLockedIsAnError) {
  std::filesystem::create_directory(dir_.file("products_lock"));
  try {
    choose({shape(512)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code, "products.file");
  }
}

TEST(ProductsHash, IsThatOfTheAlgorithmsAndNotOfTheirOrder) {
  const std::vector<ProductShape> shapes = {shape(512), shape(4096)};
  const ProductFinding a = {.algorithm = ProductAlgorithm{1}, .milliseconds = 1};
  const ProductFinding b = {.algorithm = ProductAlgorithm{2}};
  const ProductFinding none = {.suggestions = 16};
  EXPECT_EQ(products_hash(shapes, {none, none}), "");
  EXPECT_EQ(products_hash({}, {}), "");
  EXPECT_EQ(products_hash(shapes, {a, b}),
            products_hash({shapes[1], shapes[0]}, {b, {.algorithm = a.algorithm}}));
  EXPECT_NE(products_hash(shapes, {a, b}), products_hash(shapes, {b, a}));
  EXPECT_NE(products_hash(shapes, {a, none}), products_hash(shapes, {none, a}));
}

}  // namespace
}  // namespace encode
