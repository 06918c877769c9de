// Tests that an edit of a config can be applied and undone, and that a kill at any moment loses
// nothing.
#include <filesystem>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"
#include "config/edit/config_edit.h"
#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::Eq;
using testing::FaultMode;
using testing::read_bytes;
using testing::TempDir;
using testing::write_bytes;

const std::vector<ConfigEdit> plan = {{"semantic.batch_tokens", "8192"},
                                      {"semantic.batch_size", "0"},
                                      {"data.streams.tc.batch_size", "16"},
                                      {"semantic.chunk_size", "500"}};

// Configs with comments and odd quoting.
const std::vector<std::string> configs = {
    "semantic:\n  model: m  # the model\n  batch_size: 32\ndata:\n  streams:\n    tc: {field: "
    "code}\n",
    "# a\n\n\nsemantic: {model: 'it''s', batch_tokens: 1}   # b\n# c\ndata: {streams: {tc: {}}}\n",
    "{\"semantic\": {\"model\": \"a\\\"b\", \"batch_size\": 32}}",
    "semantic:\r\n\tmodel: m\r\n",
    "semantic:\r\n    prompt: |\r\n      # no comment\r\n\r\n      x\r\n    model: m\r\n",
    "\xef\xbb\xbfsemantic:\n   'model': \"\xc3\xa9: #\"\n   \"batch_tokens\": 0 #\n",
    "---\n# only comments\n",
    "",
    "semantic:\n  prompt: \"a\n\n    b: {c\"\n  chunk_size:    1000\t# tab\n   # deeper\n\n...\n",
    "semantic:\n        model: >+\n          m\n\n\nlog:\n        json: true\n  \n",
    "output:\n  combine:\n  - tc\n  - commit\nsemantic: {\n  model: m, # one\n  # two\n  "
    "batch_size: 4,\n}",
    "semantic:\n  max_length: # none\n  model: [m\n",
};

std::string applied(const std::string& path) { return apply_edit(path, edit_config(path, plan)); }

std::vector<std::string> backups(const TempDir& dir) {
  std::vector<std::string> names = list_directory(dir.path());
  std::erase_if(names, [](const std::string& name) {
    return name.find(".backup-") == std::string::npos || name.starts_with('.');
  });
  return names;
}

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_NE(error.detail().hint, "");
    return std::string(error.detail().code.name());
  }
  return "";
}

TEST(ApplyEdit, UndoGivesTheSameBytes) {
  size_t edited = 0;
  for (const std::string& config : configs) {
    const TempDir dir;
    const std::string path = dir.write("run.yaml", config);
    if (code_of([&path] { applied(path); }) != "") continue;
    ++edited;
    EXPECT_NE(read_bytes(path), config);
    EXPECT_EQ(backups(dir).size(), 1U);
    undo_edit(path);
    EXPECT_EQ(read_bytes(path), config);
    EXPECT_EQ(list_directory(dir.path()), std::vector<std::string>{"run.yaml"});
  }
  EXPECT_EQ(edited, 10U) << "two of the configs are not valid";
}

TEST(ApplyEdit, TheBackupHasTheOldBytesAndTheTime) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  const std::string backup = applied(path);
  EXPECT_THAT(backup, ContainsRegex("/run.yaml.backup-[0-9]{8}-[0-9]{6}-[0-9a-f]{16}$"));
  EXPECT_EQ(read_bytes(backup), configs[0]);
}

TEST(ApplyEdit, UndoGoesBackStepByStep) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  std::vector<std::string> texts;
  for (int step = 0; step < 12; ++step) {
    texts.push_back(read_bytes(path));
    const std::string value = std::to_string(step % 3);  // texts come again
    apply_edit(path, edit_config(path, std::vector<ConfigEdit>{{"semantic.batch_size", value}}));
  }
  EXPECT_EQ(backups(dir).size(), 12U);
  for (; !texts.empty(); texts.pop_back()) {
    undo_edit(path);
    EXPECT_EQ(read_bytes(path), texts.back());
  }
  EXPECT_EQ(code_of([&path] { undo_edit(path); }), "config.undo");
}

TEST(ApplyEdit, NothingToChangeMakesNoBackup) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", "semantic: {batch_size: 8}\n");
  const std::vector<ConfigEdit> same = {{"semantic.batch_size", "8"}};
  EXPECT_EQ(apply_edit(path, edit_config(path, same)), "");
  EXPECT_TRUE(backups(dir).empty());
}

TEST(ApplyEdit, AChangeAfterTheReadIsKept) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  const EditedConfig edit = edit_config(path, plan);
  write_bytes(path, "log: {json: true}\n");
  EXPECT_EQ(code_of([&] { apply_edit(path, edit); }), "config.changed");
  EXPECT_EQ(read_bytes(path), "log: {json: true}\n");
  EXPECT_TRUE(backups(dir).empty());
}

TEST(ApplyEdit, AChangeAfterTheEditIsKeptByUndo) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  const std::string backup = applied(path);
  write_bytes(path, read_bytes(path) + "# mine\n");
  EXPECT_EQ(code_of([&path] { undo_edit(path); }), "config.undo");
  EXPECT_THAT(read_bytes(path), ::testing::EndsWith("# mine\n"));
  EXPECT_EQ(read_bytes(backup), configs[0]);
}

TEST(ApplyEdit, FollowsALinkAndKeepsIt) {
  const TempDir dir;
  const std::string target = dir.write("real/run.yaml", configs[0]);
  const std::string link = dir.file("link.yaml");
  std::filesystem::create_symlink("real/run.yaml", link);
  const EditedConfig edit = edit_config(link, plan);
  EXPECT_TRUE(std::filesystem::equivalent(edit.file, target));
  EXPECT_NE(edit.file, link);
  EXPECT_THAT(apply_edit(link, edit), ContainsRegex("/real/run.yaml.backup-"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_bytes(target), edit.new_text);
  undo_edit(link);
  EXPECT_EQ(read_bytes(target), configs[0]);
}

TEST(ApplyEdit, ALinkThatNowLeadsElsewhereIsRefused) {
  const TempDir dir;
  dir.write("a.yaml", configs[0]);
  dir.write("b.yaml", configs[0]);
  const std::string link = dir.file("link.yaml");
  std::filesystem::create_symlink("a.yaml", link);
  const EditedConfig edit = edit_config(link, plan);
  std::filesystem::remove(link);
  std::filesystem::create_symlink("b.yaml", link);
  EXPECT_EQ(code_of([&] { apply_edit(link, edit); }), "config.changed");
}

TEST(ApplyEdit, ALinkToNothingIsNoConfig) {
  const TempDir dir;
  const std::string link = dir.file("link.yaml");
  std::filesystem::create_symlink("nothing.yaml", link);
  EXPECT_EQ(code_of([&link] { edit_config(link, plan); }), "config.file");
}

TEST(ApplyEdit, KeepsThePermissionsOfAPrivateFile) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const std::string backup = applied(path);
  for (const std::string& file : {path, backup}) {
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms{0640}) << file;
  }
  undo_edit(path);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0640});
}

TEST(ApplyEdit, KeepsTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const TempDir dir;
  const std::string path = dir.write("run.yaml", configs[0]);
  constexpr uid_t kSomebody = 12345;
  ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
  for (const std::string& file : {applied(path), path}) {
    struct stat info = {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kSomebody) << file;
    EXPECT_EQ(info.st_gid, kSomebody) << file;
  }
}

// Kills an apply at its k-th system call, for k = 1, 2, ..; then kills an undo in the same way.
int64_t sweep(FaultMode mode) {
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string path = dir.write("run.yaml", configs[0]);
    const std::string new_text = edit_config(path, plan).new_text;
    const auto run = [&](const std::function<void()>& action) {
      return testing::run_child([&](const auto& /*ack*/) { action(); },
                                testing::fault_plan(dir.path(), mode, k));
    };
    const bool apply_killed = run([&path] { applied(path); }).killed;
    EXPECT_THAT(read_bytes(path), AnyOf(Eq(configs[0]), Eq(new_text))) << "call " << k;
    for (const std::string& backup : backups(dir))
      EXPECT_EQ(read_bytes(dir.file(backup)), configs[0]) << "call " << k;
    if (read_bytes(path) == configs[0]) applied(path);
    EXPECT_EQ(read_bytes(path), new_text) << "call " << k;

    const bool undo_killed = run([&path] { undo_edit(path); }).killed;
    EXPECT_THAT(read_bytes(path), AnyOf(Eq(configs[0]), Eq(new_text))) << "call " << k;
    while (!backups(dir).empty()) undo_edit(path);
    EXPECT_EQ(read_bytes(path), configs[0]) << "call " << k;
    if (!apply_killed && !undo_killed) return k - 1;
  }
}

TEST(ApplyEdit, AKillBeforeAnyCallLosesNothing) { EXPECT_GE(sweep(FaultMode::kKillBefore), 15); }

TEST(ApplyEdit, AKillAfterAnyCallLosesNothing) { EXPECT_GE(sweep(FaultMode::kKillAfter), 15); }

// Every call fails once. The error is reported, the file is whole, and the next try works.
TEST(ApplyEdit, AFailureOfAnyCallLosesNothing) {
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string path = dir.write("run.yaml", configs[0]);
    testing::FaultPlan faults = testing::fault_plan(dir.path(), FaultMode::kErrno, k);
    faults.error = EIO;
    const testing::ChildResult result =
        testing::run_child([&](const auto& /*ack*/) { applied(path); }, faults);
    ASSERT_EQ(result.signal, 0) << "call " << k;
    if (read_bytes(path) == configs[0]) applied(path);
    EXPECT_EQ(read_bytes(path), edit_config(path, plan).new_text) << "call " << k;
    while (!backups(dir).empty()) undo_edit(path);
    EXPECT_EQ(read_bytes(path), configs[0]) << "call " << k;
    if (result.exit_code == 0) break;
  }
}

// Shows that the sweep can fail: a program that writes the config in place loses it.
TEST(ApplyEdit, ControlAWriteInPlaceIsSeen) {
  bool torn = false;
  for (int64_t k = 1; k <= 3; ++k) {
    const TempDir dir;
    const std::string path = dir.write("run.yaml", configs[0]);
    const std::string new_text = edit_config(path, plan).new_text;
    testing::run_child(
        [&](const auto& /*ack*/) {
          std::filesystem::resize_file(path, 0);
          write_file_without_sync(path, new_text);
        },
        testing::fault_plan(dir.path(), FaultMode::kKillBefore, k));
    torn = torn || (read_bytes(path) != configs[0] && read_bytes(path) != new_text);
  }
  EXPECT_TRUE(torn);
}

}  // namespace
}  // namespace encode
