// Tests the hashes of a model's files, which are part of the fingerprint, and the cache of these
// hashes.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/tokenizer_file.h"

#include "base/hash.h"
#include "base/json.h"
#include "model_dir/file_key.h"
#include "model_dir/hash_cache.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_bytes;
using testing::TempDir;
using testing::TinyModel;
using testing::write_bytes;

std::vector<FileHash> hashes(const TinyModel& model, const std::string& cache = "") {
  return hash_model_files(model.open(), cache);
}

bool has_sha256(const std::vector<FileHash>& files, const std::string& sha256) {
  return std::any_of(files.begin(), files.end(),
                     [&](const FileHash& file) { return file.sha256 == sha256; });
}

FileKey key_of(const std::string& path) { return key_of(open_for_reading(path, "io.read"), path); }

void set_times(const std::string& path, const FileKey& like) {
  const timespec mtime = {.tv_sec = like.mtime_ns / 1'000'000'000,
                          .tv_nsec = like.mtime_ns % 1'000'000'000};
  const timespec times[2] = {mtime, mtime};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(HashModelFiles, GivesNameSizeAndHashOfEachFile) {
  const TinyModel model;
  const FileHash config = hashes(model).at(1);
  EXPECT_EQ(config.name, "config.json");
  EXPECT_EQ(config.bytes, static_cast<int64_t>(testing::kTinyConfig.size()));
  EXPECT_EQ(config.sha256, sha256_hex(testing::kTinyConfig));
}

TEST(HashModelFiles, IsTheSameForACopyElsewhere) {
  EXPECT_EQ(hashes(TinyModel()), hashes(TinyModel()));
}

TEST(HashModelFiles, ChangesWithAByteAnywhereInAnyListedFile) {
  const TinyModel model;
  const ModelDirectory directory = model.open();
  const std::vector<FileHash> before = hash_model_files(directory, "");
  ASSERT_EQ(directory.files.size(), 8u);
  for (const ModelFile& file : directory.files) {
    const std::string content = read_bytes(file.path);
    for (const size_t i : {size_t{0}, content.size() / 2, content.size() - 1}) {
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      write_bytes(file.path, changed);
      EXPECT_NE(hash_model_files(directory, ""), before) << file.name << " byte " << i;
    }
    write_bytes(file.path, content);
  }
  EXPECT_EQ(hash_model_files(directory, ""), before);
}

TEST(HashModelFiles, ChangesWithAFileThatAppears) {
  const TinyModel model;
  const std::vector<FileHash> before = hashes(model);
  model.write("special_tokens_map.json", "{}");
  EXPECT_NE(hashes(model), before);
}

// If encode did not hash a file of the tokenizer, a change of the file would change vectors
// unnoticed.
TEST(HashModelFiles, HasEveryFileThatATokenizerMayBeLoadedFrom) {
  const TinyModel model;
  for (const char* name : kTokenizerFiles) {
    model.remove("tokenizer.json");
    model.write(name, "{}");
    const std::vector<FileHash> files = hashes(model);
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), [&](const FileHash& file) {
      return file.name == name;
    })) << name;
  }
}

TEST(HashModelFiles, DoesNotChangeWithTheReadme) {
  const TinyModel model;
  const std::vector<FileHash> before = hashes(model);
  model.write("README.md", "another text");
  model.write("model_head.onnx", "x");
  EXPECT_EQ(hashes(model), before);
}

TEST(HashModelFiles, FileThatGrewSinceTheDirectoryWasReadIsAnError) {
  const TinyModel model;
  const ModelDirectory directory = model.open();
  model.write("tokenizer.json", "{} ");
  testing::expect_refused(
      [&directory] { hash_model_files(directory, ""); },
      {"model.changed", "changed while it was read", "2 bytes", "3 bytes", ExitCode::kIoError});
}

TEST(HashModelFiles, CacheInAFolderThatIsNotThereCostsNothingButTime) {
  const TinyModel model;
  EXPECT_EQ(hashes(model, "/nonexistent/cache.json"), hashes(model));
}

// --- The cache

class HashCacheTest : public ::testing::Test {
 protected:
  HashCacheTest() : file_(dir_.write("weights", "0123456789")), cache_(dir_.file("hashes.json")) {}
  // Writes a cache to disk that has a wrong hash, kPlanted, for the current state of the file.
  void plant() const {
    HashCache cache(cache_, 0);
    cache.store(key_of(file_), kPlanted);
    cache.save();
  }
  std::optional<std::string> find() const { return HashCache(cache_, 0).find(key_of(file_)); }

  inline static const std::string kPlanted = std::string(64, 'f');
  TempDir dir_;
  std::string file_;
  std::string cache_;
};

TEST_F(HashCacheTest, FindsWhatWasStored) {
  plant();
  EXPECT_EQ(find(), kPlanted);
}

TEST_F(HashCacheTest, EditWithTheSameSizeAndMtimeIsDetected) {
  plant();
  const FileKey before = key_of(file_);
  write_bytes(file_, "abcdefghij");
  set_times(file_, before);
  const FileKey after = key_of(file_);
  ASSERT_EQ(after.mtime_ns, before.mtime_ns);
  ASSERT_EQ(after.size, before.size);
  ASSERT_EQ(after.inode, before.inode);
  EXPECT_EQ(find(), std::nullopt);
}

TEST_F(HashCacheTest, FileReplacedByAnotherIsDetected) {
  plant();
  fs::rename(dir_.write("other", "0123456789"), file_);
  EXPECT_EQ(find(), std::nullopt);
}

TEST_F(HashCacheTest, YoungFileIsNeitherStoredNorFound) {
  const FileKey key = key_of(file_);  // written milliseconds ago
  HashCache young(cache_, kMinAgeNs);
  young.store(key, kPlanted);
  young.save();
  EXPECT_FALSE(fs::exists(cache_));
  plant();
  EXPECT_EQ(HashCache(cache_, kMinAgeNs).find(key), std::nullopt);
  FileKey old = key;
  old.mtime_ns -= 2 * kMinAgeNs;
  old.ctime_ns -= 2 * kMinAgeNs;
  young.store(old, kPlanted);
  EXPECT_EQ(young.find(old), kPlanted);  // an old key is found
}

TEST_F(HashCacheTest, TimeStampInTheFutureIsNotTrusted) {
  FileKey key = key_of(file_);
  key.ctime_ns += int64_t{3600} * 1'000'000'000;
  HashCache cache(cache_, 0);
  cache.store(key, kPlanted);
  EXPECT_EQ(cache.find(key), std::nullopt);
}

TEST_F(HashCacheTest, DamagedCacheIsAnEmptyOneAndIsReplaced) {
  for (const char* damage : {"", "{", "[]", R"({"version": 1, "entries": [{"dev": "x"}]})",
                             R"({"version": 2, "entries": []})"}) {
    write_bytes(cache_, damage);
    EXPECT_EQ(find(), std::nullopt) << damage;
    plant();
    EXPECT_EQ(find(), kPlanted) << damage;
  }
}

TEST_F(HashCacheTest, OlderStateOfAFileIsForgotten) {
  plant();
  write_bytes(file_, "abcdefghijk");
  plant();
  EXPECT_EQ(Json::parse(read_bytes(cache_)).at("entries").size(), 1u);
}

// Shows that hash_model_files() uses the cache, because the tests above call only the cache.
TEST_F(HashCacheTest, IsUsedByHashModelFiles) {
  const TinyModel model;
  const FileKey key = key_of(model.file("model.safetensors"));
  const auto deadline = key.ctime_ns + kMinAgeNs;
  for (timespec now = {}; now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec <= deadline;
       ::clock_gettime(CLOCK_REALTIME, &now)) {
    ::usleep(50'000);
  }
  HashCache cache(cache_, 0);
  cache.store(key, kPlanted);
  cache.save();
  EXPECT_TRUE(has_sha256(hashes(model, cache_), kPlanted));
  // hash_model_files() also stores the hashes of other files.
  EXPECT_THAT(read_bytes(cache_), HasSubstr(sha256_hex(testing::kTinyConfig)));
  EXPECT_FALSE(has_sha256(hashes(model, ""), kPlanted));
}

}  // namespace
}  // namespace encode
