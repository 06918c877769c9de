// Tests links in a model directory: a link is followed only if it stays inside the directory.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"
#include "model_dir/model_folder.h"
#include "support/temp_dir.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::refused;
using testing::TempDir;
using testing::TinyModel;

// Moves the files of a model to a folder in it and leaves links.
void move_behind_links(const TinyModel& model, const std::string& folder,
                       const std::string& link_to) {
  fs::create_directories(model.file(folder));
  for (const char* name : {"config.json", "model.safetensors", "modules.json", "1_Pooling",
                           "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json"}) {
    fs::rename(model.file(name), model.file(folder + "/" + name));
    fs::create_symlink(link_to + "/" + name, model.file(name));
  }
}

std::vector<FileHash> hashes(const TinyModel& model) {
  std::vector<FileHash> all = hash_model_files(model.open(), "");
  for (FileHash& hash : all) hash.settled_key.reset();
  return all;
}

// A volume of Kubernetes: file -> ..data/file, ..data -> ..2026_11_25.
TEST(LinkedFiles, AVolumeOfKubernetesIsReadAndHashedAsTheFilesThemselves) {
  const TinyModel model;
  const std::vector<FileHash> plain = hashes(model);
  move_behind_links(model, "..2026_11_25", "..data");
  fs::create_symlink("..2026_11_25", model.file("..data"));
  EXPECT_EQ(hashes(model), plain);
}

// A volume can also have real folders with links in them (kubernetes/kubernetes#48671).
TEST(LinkedFiles, AVolumeWithFoldersHasLinksThatGoUp) {
  const TinyModel model;
  fs::create_directories(model.file("..2026/1_Pooling"));
  fs::create_symlink("..2026", model.file("..data"));
  fs::rename(model.file("1_Pooling/config.json"), model.file("..2026/1_Pooling/config.json"));
  fs::create_symlink("../..data/1_Pooling/config.json", model.file("1_Pooling/config.json"));
  EXPECT_EQ(model.open().modules.size(), 2U);
}

TEST(LinkedFiles, AbsoluteLinksInsideAreFollowedHoweverTheySpellTheDirectory) {
  const TinyModel model;
  move_behind_links(model, "real", model.path() + "/real");
  EXPECT_EQ(model.open().vocab_size, 10);
  const TempDir other;
  fs::create_symlink(model.path(), other.file("alias"));
  fs::remove(model.file("config.json"));
  fs::create_symlink(other.file("alias/real/config.json"), model.file("config.json"));
  EXPECT_EQ(model.open().vocab_size, 10);
}

TEST(LinkedFiles, ALinkThatLeadsOutIsRefusedWithItsTarget) {
  const TempDir outside;
  outside.write("config.json", testing::kTinyConfig);
  const std::string name = fs::path(outside.path()).filename().string();
  for (const std::string& target : {outside.file("config.json"), "../" + name + "/config.json",
                                    "up/../../" + name + "/config.json",
                                    "sub/up/../" + name + "/config.json", std::string("..")}) {
    const TinyModel model;
    fs::create_directory(model.file("sub"));
    fs::create_symlink("..", model.file("sub/up"));
    fs::create_symlink("sub", model.file("up"));
    fs::remove(model.file("config.json"));
    fs::create_symlink(target, model.file("config.json"));
    const ErrorDetail error = refused([&] { model.open(); });
    EXPECT_EQ(error.code.name(), "model.symlink") << target;
    EXPECT_THAT(error.what, HasSubstr("leads out")) << target;
    EXPECT_THAT(error.expected, HasSubstr(model.path())) << target;
  }
}

TEST(LinkedFiles, AFolderThatLeadsOutIsRefused) {
  const TinyModel model;
  const TempDir outside;
  fs::rename(model.file("1_Pooling"), outside.file("1_Pooling"));
  fs::create_directory_symlink(outside.file("1_Pooling"), model.file("1_Pooling"));
  EXPECT_EQ(refused([&] { model.open(); }).code.name(), "model.symlink");
}

TEST(LinkedFiles, LoopsAndLinksToNothingAreNamed) {
  const TinyModel model;
  fs::remove(model.file("config.json"));
  fs::create_symlink("b", model.file("config.json"));
  fs::create_symlink("config.json", model.file("b"));
  const ErrorDetail loop = refused([&] { model.open(); });
  EXPECT_EQ(loop.code.name(), "model.symlink");
  EXPECT_THAT(loop.what, HasSubstr("each other"));
  fs::remove(model.file("b"));
  const ErrorDetail nothing = refused([&] { model.open(); });
  EXPECT_EQ(nothing.code.name(), "model.missing");
  EXPECT_THAT(nothing.hint, HasSubstr("points to nothing"));
}

TEST(LinkedFiles, ALinkToADeviceIsNotOpened) {
  const TinyModel model;
  fs::remove(model.file("config.json"));
  fs::create_symlink("/dev/zero", model.file("config.json"));
  EXPECT_EQ(refused([&] { model.open(); }).code.name(), "model.symlink");
}

// Another process changes a folder to a link to the outside and back, as fast as it can.
TEST(LinkedFiles, AFolderThatChangesMeanwhileNeverLeadsOut) {
  const TempDir dir;
  const TempDir outside;
  dir.write("inside/folder/file", "inside");
  outside.write("folder/file", "outside");
  fs::create_symlink("inside", dir.file("a"));
  fs::create_symlink(outside.path(), dir.file("b"));
  std::atomic<bool> done = false;
  std::thread swapper([&] {
    while (!done) {
      fs::rename(dir.file("a"), dir.file("c"));  // a is inside, then outside, then inside
      fs::rename(dir.file("b"), dir.file("a"));
      fs::rename(dir.file("c"), dir.file("b"));
    }
  });
  const ModelFolder folder = ModelFolder::open(dir.path(), nullptr);
  int read = 0;
  int refusals = 0;
  for (int i = 0; i < 200'000 && (read < 200 || refusals < 200); ++i) {
    try {
      EXPECT_EQ(folder.subfolder("a").subfolder("folder").read_text("file", 100, "model.config"),
                "inside");
      ++read;
    } catch (const Error&) {
      ++refusals;
    }
  }
  done = true;
  swapper.join();
  EXPECT_GT(read, 0);
  EXPECT_GT(refusals, 0);
}

TEST(LinkedFiles, AGitLfsPointerIsNamedInEveryFile) {
  for (const char* name :
       {"config.json", "modules.json", "1_Pooling/config.json", "config_sentence_transformers.json",
        "tokenizer_config.json", "sentence_bert_config.json"}) {
    const TinyModel model;
    model.write(name, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n");
    const ErrorDetail error = refused([&] { model.open(); });
    EXPECT_EQ(error.exit_code, ExitCode::kConfig) << name;
    EXPECT_THAT(error.found, HasSubstr("Git LFS pointer")) << name;
    EXPECT_THAT(error.where, HasSubstr(name)) << name;
  }
}

TEST(LinkedFiles, AGitLfsPointerIsNamedInPlaceOfATokenizer) {
  const TinyModel model;
  model.write("tokenizer.json",
              "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n");
  const ModelDirectory directory = model.open();
  const ErrorDetail error = refused([&] { read_tokenizer_source(directory, {}); });
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_THAT(error.found, HasSubstr("Git LFS pointer"));
  EXPECT_THAT(error.where, HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace encode
