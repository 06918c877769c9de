// Tests the folders that modules.json may name.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tiny_model.h"

namespace encode {
namespace {

using testing::TinyModel;

// sentence-transformers joins the path of the directory and the path of the module.
TEST(Modules, PathsOfModulesMayBeNestedAndHaveDotsAndSlashes) {
  for (const auto& [path, folder] : std::vector<std::pair<std::string, std::string>>{
           {"extra/1_Pooling", "extra/1_Pooling"},
           {"1_Pooling/", "1_Pooling"},
           {"./1_Pooling", "1_Pooling"},
           {".//extra/./1_Pooling//", "extra/1_Pooling"}}) {
    const TinyModel model;
    const std::string config = testing::read_bytes(model.file("1_Pooling/config.json"));
    model.remove("1_Pooling");
    model.write(folder + "/config.json", config);
    model.write("modules.json",
                R"([{"type": "sentence_transformers.models.Transformer", "path": "./"},
                    {"type": "sentence_transformers.models.Pooling", "path": ")" +
                    path + R"("}])");
    const ModelDirectory directory = model.open();
    EXPECT_EQ(directory.modules.front().path, folder) << path;
    const std::vector<FileHash> hashes = hash_model_files(directory, "");
    EXPECT_EQ(
        std::count_if(hashes.begin(), hashes.end(),
                      [&](const FileHash& file) { return file.name == folder + "/config.json"; }),
        1)
        << path;
    // The process that encodes opens the files with the hashes.
    EXPECT_EQ(open_model_directory(model.path(), hashes).modules.size(), 1U) << path;
  }
  for (const std::string path :
       {"../1_Pooling", "extra/../1_Pooling", "/1_Pooling", "a/.hidden", "a b"}) {
    const TinyModel model;
    model.write("modules.json",
                R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                    {"type": "sentence_transformers.models.Pooling", "path": ")" +
                    path + R"("}])");
    testing::expect_refused([&] { model.open(); },
                            {"model.name", "may not refer to", "letters", path});
  }
}

}  // namespace
}  // namespace encode
