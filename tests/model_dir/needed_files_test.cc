// Which files of a repository are downloaded, and that they are all that encode reads.
#include "model_dir/needed_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::Not;
using testing::TempDir;
using testing::TinyModel;

std::set<std::string> files_of(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder).string());
  }
  return files;
}

// Copies what is needed from `repository` to `folder`, as a download does. Returns the rounds.
int copy_needed(const std::string& repository, const std::string& folder) {
  const std::set<std::string> available = files_of(repository);
  for (int round = 0;; ++round) {
    const std::vector<std::string> needed = needed_files(available, folder);
    const std::set<std::string> there = files_of(folder);
    if (std::all_of(needed.begin(), needed.end(),
                    [&](const std::string& file) { return there.contains(file); }))
      return round;
    for (const std::string& file : needed) {
      if (there.contains(file)) continue;
      fs::create_directories(fs::path(folder + "/" + file).parent_path());
      fs::copy_file(repository + "/" + file, folder + "/" + file);
    }
  }
}

std::vector<FileHash> hashes(const std::string& folder) {
  std::vector<FileHash> all = hash_model_files(open_model_directory(folder), "");
  for (FileHash& hash : all) hash.settled_key.reset();
  return all;
}

TEST(NeededFiles, GiveTheFingerprintOfTheWholeRepository) {
  for (const char* model :
       {"sentence_transformers/every_module", "sentence_transformers/older_generation",
        "sentence_transformers/static_embedding", "sentence_transformers/model2vec",
        "late_interaction", "models/bert", "models/bert_float16_sharded"}) {
    const std::string repository = testing::test_data(model);
    const TempDir folder;
    EXPECT_LE(copy_needed(repository, folder.path()), 3) << model;
    EXPECT_EQ(hashes(folder.path()), hashes(repository)) << model;
  }
}

// A repository of every_module whose weights are pickled. `more` are other files.
std::string pickled_repository(const TempDir& dir, const std::vector<std::string>& more) {
  std::string repository = dir.file("repository");
  fs::copy(testing::test_data("sentence_transformers/every_module"), repository,
           fs::copy_options::recursive);
  for (const std::string& file : files_of(repository)) {
    if (file.ends_with("model.safetensors")) fs::remove(repository + "/" + file);
  }
  fs::copy(testing::test_data("pickled/every_module"), repository, fs::copy_options::recursive);
  for (const std::string& file : more) testing::write_bytes(repository + "/" + file, "x");
  return repository;
}

TEST(NeededFiles, PickledWeightsAreNeededIfThereAreNoOthers) {
  const TempDir dir;
  const std::string repository =
      pickled_repository(dir, {"tf_model.h5", "pytorch_model.bin.index.json", "training_args.bin"});
  const TempDir folder;
  EXPECT_LE(copy_needed(repository, folder.path()), 3);
  EXPECT_EQ(hashes(folder.path()), hashes(repository));
  const std::set<std::string> files = files_of(folder.path());
  EXPECT_TRUE(files.contains("pytorch_model.bin"));
  EXPECT_TRUE(files.contains("2_Dense/pytorch_model.bin"));
  EXPECT_FALSE(files.contains("pytorch_model.bin.index.json"));
  EXPECT_FALSE(files.contains("training_args.bin"));
}

TEST(NeededFiles, PickledShardsComeAfterTheirIndex) {
  const TempDir dir;
  const std::string repository = pickled_repository(dir, {});
  fs::remove(repository + "/pytorch_model.bin");
  fs::copy(testing::test_data("pickled/sharded"), repository);
  const TempDir folder;
  EXPECT_LE(copy_needed(repository, folder.path()), 3);
  EXPECT_EQ(hashes(folder.path()), hashes(repository));
  EXPECT_TRUE(files_of(folder.path()).contains("pytorch_model-00002-of-00002.bin"));
}

TEST(NeededFiles, AShardWithNothingButAHeadIsNotDownloaded) {
  const std::string source = testing::test_data("models/bert_float16_sharded");
  const TempDir dir;
  const std::string repository = dir.file("repository");
  fs::copy(source, repository);
  const std::string index = repository + "/model.safetensors.index.json";
  Json json = Json::parse(testing::read_bytes(index));
  json["weight_map"]["lm_head.weight"] = "model-00004-of-00004.safetensors";
  testing::write_bytes(index, json.dump());
  testing::write_bytes(repository + "/model-00004-of-00004.safetensors", "x");
  const TempDir folder;
  copy_needed(repository, folder.path());
  EXPECT_FALSE(files_of(folder.path()).contains("model-00004-of-00004.safetensors"));
  EXPECT_EQ(hashes(folder.path()), hashes(repository));
}

TEST(NeededFiles, NothingElseIsDownloaded) {
  const TinyModel model;
  for (const char* noise : {"README.md", "pytorch_model.bin", "onnx/model.onnx", "onnx/config.json",
                            "model.fp16.safetensors", "0_Other/model.safetensors"})
    model.write(noise, "x");
  const TempDir folder;
  copy_needed(model.path(), folder.path());
  std::set<std::string> expected = files_of(TinyModel().path());
  expected.erase("README.md");
  EXPECT_EQ(files_of(folder.path()), expected);
}

TEST(NeededFiles, TheFirstRoundIsTheListOfModules) {
  const TinyModel model;
  const TempDir empty;
  EXPECT_THAT(needed_files(files_of(model.path()), empty.path()), ElementsAre("modules.json"));
}

TEST(NeededFiles, WeightsComeAfterTheArchitectureIsKnown) {
  const TinyModel model;
  model.remove("modules.json");
  const std::set<std::string> available = files_of(model.path());
  const TempDir folder;
  EXPECT_THAT(needed_files(available, folder.path()), Not(Contains("model.safetensors")));
  folder.write("config.json", R"({"model_type": "whisper", "hidden_size": 4, "vocab_size": 4})");
  for (const std::string& file : available) {
    if (file.ends_with(".json") && file != "config.json") folder.write(file, "{}");
    if (file.ends_with(".txt")) folder.write(file, "");
  }
  expect_refused([&] { needed_files(available, folder.path()); },
                 {.code = "model.type", .what = "", .expected = "", .found = "whisper"});
}

TEST(NeededFiles, OtherFormatsAreRefusedByName) {
  const TempDir empty;
  const auto refuse = [&](const std::set<std::string>& available, const testing::Expected& error) {
    expect_refused([&] { needed_files(available, empty.path()); }, error);
  };
  refuse({"config.json", "model.onnx", "tf_model.h5"},
         {.code = "model.format",
          .what = "in a format that encode does not read",
          .expected = "model.safetensors",
          .found = "model.onnx, tf_model.h5"});
  refuse({"config.json", "README.md"}, {.code = "model.missing",
                                        .what = "no weights",
                                        .expected = "model.safetensors",
                                        .found = "none of them",
                                        .exit_code = ExitCode::kNoInput});
  refuse({"model.gguf"}, {.code = "model.missing",
                          .what = "no config.json",
                          .expected = "a transformers or sentence-transformers model",
                          .found = "1 other files",
                          .exit_code = ExitCode::kNoInput});
}

TEST(NeededFiles, AModuleInANestedFolderIsDownloaded) {
  const TinyModel model;
  fs::create_directory(model.file("extra"));
  fs::rename(model.file("1_Pooling"), model.file("extra/1_Pooling"));
  model.write("modules.json",
              R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                  {"type": "sentence_transformers.models.Pooling", "path": "./extra/1_Pooling"}])");
  const TempDir copy;
  copy_needed(model.path(), copy.path());
  EXPECT_EQ(hashes(copy.path()), hashes(model.path()));
}

TEST(NeededFiles, NamesInFilesCannotLeadOut) {
  const TinyModel model;
  const std::set<std::string> available = files_of(model.path());
  const TempDir folder;
  folder.write("modules.json",
               R"([{"type": "sentence_transformers.models.Transformer", "path": "../evil"}])");
  expect_refused(
      [&] { needed_files(available, folder.path()); },
      {.code = "model.name", .what = "may not refer", .expected = "letters", .found = "../evil"});
}

TEST(NeededFiles, AShardThatIsMissingIsNamed) {
  const std::string repository = testing::test_data("models/bert_float16_sharded");
  std::set<std::string> available = files_of(repository);
  available.erase("model-00002-of-00003.safetensors");
  expect_refused([&] { needed_files(available, repository); },
                 {.code = "model.missing",
                  .what = "does not have a shard",
                  .expected = "model-00002-of-00003.safetensors",
                  .found = "no such file",
                  .exit_code = ExitCode::kNoInput});
}

}  // namespace
}  // namespace encode
