// Reads files that torch.save() has written. scripts/reference/make_files.py makes them.
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "model_dir/safetensors.h"
#include "model_dir/torch_file/torch_weights.h"
#include "support/temp_dir.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using testing::expect_refused;
using testing::TempDir;
using testing::test_data;
using testing::TinyModel;

TensorMap read_pickled(const std::string& file) {
  return read_torch_weights(open_for_reading(file, "model.open"), file);
}

// Returns the numbers of a tensor as bytes in row-major order.
std::string row_major(const TensorInfo& info) {
  const std::string file = testing::read_bytes(info.file);
  const auto element = static_cast<size_t>(dtype_bytes(info.dtype));
  if (info.strides.empty())
    return file.substr(static_cast<size_t>(info.offset_bytes),
                       static_cast<size_t>(info.size_bytes));
  std::string bytes;
  std::vector<int64_t> index(info.shape.size(), 0);
  for (int64_t i = 0; i < info.size_bytes / static_cast<int64_t>(element); ++i) {
    const int64_t place =
        std::inner_product(index.begin(), index.end(), info.strides.begin(), int64_t{0});
    bytes += file.substr(
        static_cast<size_t>(info.offset_bytes) + static_cast<size_t>(place) * element, element);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < info.shape[dim]) break;
      index[dim] = 0;
    }
  }
  return bytes;
}

template <typename Number>
std::vector<Number> numbers(const TensorInfo& info) {
  const std::string bytes = row_major(info);
  std::vector<Number> all(bytes.size() / sizeof(Number));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

class SmallFile : public ::testing::TestWithParam<const char*> {};

TEST_P(SmallFile, HasEveryTensorOfTorch) {
  const TensorMap tensors = read_pickled(test_data(fmt::format("pickled/{}", GetParam())));
  ASSERT_EQ(tensors.size(), 16u);
  using ::testing::ElementsAre;
  EXPECT_THAT(numbers<float>(tensors.at("float")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<double>(tensors.at("double")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<int64_t>(tensors.at("long")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<int32_t>(tensors.at("int")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<int16_t>(tensors.at("short")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<int8_t>(tensors.at("char")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<uint8_t>(tensors.at("byte")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers<uint8_t>(tensors.at("bool")), ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_EQ(tensors.at("half").dtype, "F16");
  EXPECT_EQ(tensors.at("bfloat16").dtype, "BF16");
  EXPECT_TRUE(tensors.at("scalar").shape.empty());
  EXPECT_THAT(numbers<float>(tensors.at("scalar")), ElementsAre(7));
  EXPECT_THAT(numbers<float>(tensors.at("parameter")), ElementsAre(1, 1));
}

TEST_P(SmallFile, HasViewsOfStorages) {
  const TensorMap tensors = read_pickled(test_data(fmt::format("pickled/{}", GetParam())));
  using ::testing::ElementsAre;
  EXPECT_THAT(tensors.at("transposed").shape, ElementsAre(2, 3));
  EXPECT_THAT(tensors.at("transposed").strides, ElementsAre(1, 2));
  EXPECT_THAT(numbers<float>(tensors.at("transposed")), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(numbers<float>(tensors.at("head")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers<float>(tensors.at("tail")), ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_EQ(tensors.at("tail").offset_bytes, tensors.at("head").offset_bytes + 16);
  // A dimension of size 1 may have any stride.
  EXPECT_TRUE(tensors.at("expanded").strides.empty());
  EXPECT_THAT(numbers<float>(tensors.at("expanded")), ElementsAre(0, 1, 2, 3));
}

INSTANTIATE_TEST_SUITE_P(Torch, SmallFile,
                         ::testing::Values("small.bin", "protocol_4.bin", "torch_1_6.bin"));

TEST(PickledWeights, AreNotAlwaysAligned) {
  // FoundWeights.TensorsMayBeginAtAnyByte shows that such tensors can be loaded.
  const TensorMap tensors = read_pickled(test_data("pickled/torch_1_6.bin"));
  EXPECT_TRUE(std::any_of(tensors.begin(), tensors.end(), [](const auto& entry) {
    return entry.second.dtype == "F32" && entry.second.offset_bytes % 4 != 0;
  }));
}

TEST(PickledWeights, AreThoseOfSafetensors) {
  const std::string source = test_data("sentence_transformers/every_module");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test_data("pickled/every_module"))) {
    if (!entry.is_regular_file()) continue;
    const std::string folder =
        fs::relative(entry.path(), test_data("pickled/every_module")).parent_path().string();
    const std::string safe = fmt::format("{}/{}/model.safetensors", source, folder);
    const TensorMap expected = read_safetensors(open_for_reading(safe, "model.open"), safe);
    const TensorMap found = read_pickled(entry.path().string());
    for (const auto& [name, info] : expected) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_EQ(found.at(name).shape, info.shape) << name;
      EXPECT_EQ(row_major(found.at(name)), row_major(info)) << name;
    }
    ++files;
  }
  EXPECT_EQ(files, 5);
}

TEST(PickledWeights, TiedTensorsHaveTheSameBytes) {
  const TensorMap tensors = read_pickled(test_data("pickled/every_module/pytorch_model.bin"));
  EXPECT_EQ(tensors.at("cls.predictions.decoder.weight").offset_bytes,
            tensors.at("embeddings.word_embeddings.weight").offset_bytes);
}

TEST(PickledWeights, OtherFormatsOfTorchAreRefusedWithTheWayOut) {
  const auto refuse = [](const char* file, const testing::Expected& expected) {
    expect_refused([&] { read_pickled(test_data(fmt::format("pickled/{}", file))); }, expected);
  };
  refuse("before_torch_1_6.bin", {"model.zip", "the format of torch before 1.6", "since torch 1.6",
                                  "a pickle without a zip archive"});
  refuse("torchscript.bin", {"model.zip", "a TorchScript program", "torch.save()", "the entry '"});
  refuse("views.bin", {"model.offsets", "gaps or repeated elements", "row-major order",
                       "the shape [3, 2] with the strides [4, 1]"});
}

// A copy of a directory of tests/data in which pickled files take the place of safetensors.
class PickledCopy {
 public:
  PickledCopy() : path_(dir_.file("model")) {
    fs::copy(test_data("sentence_transformers/every_module"), path_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      if (entry.path().filename() == "model.safetensors") fs::remove(entry.path());
    }
    fs::copy(test_data("pickled/every_module"), path_,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  const std::string& path() const { return path_; }

 private:
  TempDir dir_;
  std::string path_;
};

TEST(PickledDirectory, HasTheTensorsOfItsModulesToo) {
  const PickledCopy copy;
  const ModelDirectory directory = open_model_directory(copy.path());
  int64_t modules = 0;
  for (const SentenceModule& module : directory.modules) {
    for (const auto& [name, info] : module.tensors) {
      EXPECT_THAT(info.file, ::testing::EndsWith("/pytorch_model.bin"));
      ++modules;
    }
  }
  EXPECT_GT(modules, 4);
}

TEST(PickledDirectory, HashesThePickledFiles) {
  const PickledCopy copy;
  std::vector<std::string> names;
  for (const ModelFile& file : open_model_directory(copy.path()).files) names.push_back(file.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"pytorch_model.bin", "2_Dense/pytorch_model.bin"}));
}

TEST(PickledDirectory, ShardsAreReadByTheirIndex) {
  const TinyModel model;
  model.remove("model.safetensors");
  for (const auto& entry : fs::directory_iterator(test_data("pickled/sharded")))
    fs::copy(entry.path(), model.file(entry.path().filename().string()));
  const std::string whole = test_data("sentence_transformers/every_module/model.safetensors");
  const TensorMap expected = read_safetensors(open_for_reading(whole, "model.open"), whole);
  const ModelDirectory directory = model.open();
  ASSERT_EQ(directory.tensors.size(), expected.size());
  for (const auto& [name, info] : expected)
    EXPECT_EQ(row_major(directory.tensors.at(name)), row_major(info)) << name;
  model.remove("pytorch_model-00002-of-00002.bin");
  expect_refused([&] { model.open(); },
                 {"model.missing", "missing", "a file", "nothing", ExitCode::kNoInput});
}

TEST(PickledDirectory, SafetensorsWin) {
  const TinyModel model;
  model.write("pytorch_model.bin", "cos\nsystem\n(S'touch /tmp/owned'\ntR.");
  model.write("pytorch_model.bin.index.json", "{}");
  const ModelDirectory directory = model.open();
  for (const ModelFile& file : directory.files)
    EXPECT_THAT(file.name, ::testing::Not(::testing::StartsWith("pytorch_model"))) << file.name;
}

}  // namespace
}  // namespace encode
