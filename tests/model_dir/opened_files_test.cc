// Tests that a directory which is opened with hashes has exactly the content that was hashed.
#include "model_dir/opened_files.h"

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_dir/file_key.h"
#include "tiny_model.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<FileHash> hashes_of(const TinyModel& model) {
  return hash_model_files(model.open(), "");
}

// Does all that a worker does with the files: opens the directory and reads the tokenizer and the
// weights. Returns the bytes of the weights.
std::string use(const TinyModel& model, const std::vector<FileHash>& hashes) {
  const ModelDirectory directory = open_model_directory(model.path(), hashes);
  read_tokenizer_source(directory, {});
  directory.opened->check_weights();
  const std::string path = model.file("model.safetensors");
  const UniqueFd& fd = directory.opened->weights(path);
  std::string bytes(static_cast<size_t>(file_size(fd, path)), '\0');
  pread_all(fd, bytes, 0, path);
  return bytes;
}

ErrorDetail error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

// Returns other content that is still valid and has the same number of bytes: a space becomes a
// tab, or a value becomes another value.
std::string another(std::string content) {
  const size_t space = content.find(' ');
  if (space != std::string::npos && content.front() != '\x88') {
    content[space] = '\t';
    return content;
  }
  content.back() = static_cast<char>(content.back() ^ 1);
  return content;
}

void replace_file(const TinyModel& model, const std::string& name, const std::string& content) {
  model.write("new_file", content);
  fs::rename(model.file("new_file"), model.file(name));
}

TEST(OpenedFiles, AFileWithOtherBytesOfTheSameSizeIsRefused) {
  const TinyModel model;
  const std::vector<FileHash> hashes = hashes_of(model);
  ASSERT_EQ(hashes.size(), 8U);
  for (const FileHash& file : hashes) {
    const std::string path = model.file(file.name);
    const std::string content = read_bytes(path);
    for (const bool in_place : {true, false}) {
      const std::string other = file.bytes == 2 ? "[]" : another(content);
      ASSERT_EQ(other.size(), content.size());
      in_place ? write_bytes(path, other) : replace_file(model, file.name, other);
      const ErrorDetail error = error_of([&] { use(model, hashes); });
      EXPECT_EQ(error.code.name(), "model.changed") << file.name;
      EXPECT_EQ(error.exit_code, ExitCode::kIoError);
      EXPECT_EQ(error.where, path);
      EXPECT_THAT(error.expected, HasSubstr(file.sha256));
    }
    write_bytes(path, content);
  }
  EXPECT_EQ(error_of([&] { use(model, hashes); }).code.name(), "");
}

TEST(OpenedFiles, AFileOfAnotherSizeOrThatIsGoneIsRefused) {
  const TinyModel model;
  const std::vector<FileHash> hashes = hashes_of(model);
  for (const FileHash& file : hashes) {
    const std::string path = model.file(file.name);
    const std::string content = read_bytes(path);
    write_bytes(path, content + " ");
    EXPECT_EQ(error_of([&] { use(model, hashes); }).code.name(), "model.changed") << file.name;
    fs::remove(path);
    EXPECT_EQ(error_of([&] { use(model, hashes); }).code.name(), "model.changed") << file.name;
    write_bytes(path, content);
  }
}

TEST(OpenedFiles, AFileThatAppearsCountsAsAbsent) {
  TinyModel model;
  model.remove("modules.json");
  model.remove("sentence_bert_config.json");
  const std::vector<FileHash> hashes = hashes_of(model);
  const ModelDirectory before = open_model_directory(model.path(), hashes);
  const TinyModel whole;
  for (const char* name : {"modules.json", "sentence_bert_config.json"})
    model.write(name, read_bytes(whole.file(name)));
  model.write("adapter_config.json", "{}");
  const ModelDirectory after = open_model_directory(model.path(), hashes);
  EXPECT_EQ(after.modules, before.modules);
  EXPECT_EQ(after.files.size(), before.files.size());
  EXPECT_NE(open_model_directory(whole.path()).modules, before.modules);  // the control
}

TEST(OpenedFiles, AnotherInodeOrTimeAloneIsNoError) {
  const TinyModel model;
  const std::vector<FileHash> hashes = hashes_of(model);
  for (const FileHash& file : hashes)
    replace_file(model, file.name, read_bytes(model.file(file.name)));
  EXPECT_NO_THROW(use(model, hashes));
}

TEST(OpenedFiles, WeightsThatAreReplacedWhileTheyAreOpenKeepTheirContent) {
  const TinyModel model;
  const std::vector<FileHash> hashes = hashes_of(model);
  const std::string old = read_bytes(model.file("model.safetensors"));
  const ModelDirectory directory = open_model_directory(model.path(), hashes);
  replace_file(model, "model.safetensors", another(old));
  EXPECT_NO_THROW(directory.opened->check_weights());
  const std::string path = model.file("model.safetensors");
  std::string bytes(old.size(), '\0');
  pread_all(directory.opened->weights(path), bytes, 0, path);
  EXPECT_TRUE(bytes == old);
}

TEST(OpenedFiles, AWriteToOpenWeightsIsSeen) {
  const TinyModel model;
  const std::vector<FileHash> hashes = hashes_of(model);
  const std::string path = model.file("model.safetensors");
  const std::string old = read_bytes(path);
  const ModelDirectory directory = open_model_directory(model.path(), hashes);
  const std::vector<FileKey> before = directory.opened->check_weights();
  EXPECT_EQ(directory.opened->check_weights(), before);
  write_bytes(path, another(old));
  EXPECT_EQ(error_of([&] { directory.opened->check_weights(); }).code.name(), "model.changed");
  write_bytes(path, old);
  // The content is the old one again, but the key says that something was written in between.
  EXPECT_NE(directory.opened->check_weights(), before);
}

class Settled : public ::testing::Test {
 protected:
  // Waits until a write would change the key of every file.
  Settled() {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kMinAgeNs + kMinAgeNs / 20));
    hashes_ = hashes_of(model_);
  }
  FileHash& weights() {
    return *std::find_if(hashes_.begin(), hashes_.end(),
                         [](const FileHash& file) { return file.name == "model.safetensors"; });
  }

  TinyModel model_;
  std::vector<FileHash> hashes_;
};

TEST_F(Settled, WeightsAreNotHashedAgain) {
  for (const FileHash& file : hashes_) EXPECT_TRUE(file.settled_key) << file.name;
  weights().sha256 = std::string(64, '0');  // nothing compares with it
  EXPECT_NO_THROW(use(model_, hashes_));
  weights().settled_key.reset();
  EXPECT_EQ(error_of([&] { use(model_, hashes_); }).code.name(), "model.changed");
}

TEST_F(Settled, AWriteWithTheOldTimeStampIsSeen) {
  const std::string path = model_.file("model.safetensors");
  const auto time = fs::last_write_time(path);
  write_bytes(path, another(read_bytes(path)));
  fs::last_write_time(path, time);
  EXPECT_EQ(error_of([&] { use(model_, hashes_); }).code.name(), "model.changed");
}

TEST(OpenedFilesControl, AYoungFileHasNoSettledKey) {
  for (const FileHash& file : hashes_of(TinyModel())) EXPECT_FALSE(file.settled_key) << file.name;
}

// Without hashes any content is accepted, so the refusals above are due to the hashes.
TEST(OpenedFilesControl, WithoutHashesOtherBytesAreAccepted) {
  const TinyModel model;
  const ModelDirectory directory = model.open();
  const std::string path = model.file("model.safetensors");
  write_bytes(path, another(read_bytes(path)));
  EXPECT_NO_THROW(directory.opened->check_weights());
  EXPECT_NO_THROW(model.open());
}

}  // namespace
}  // namespace encode::testing
