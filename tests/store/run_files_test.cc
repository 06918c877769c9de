#include "store/run_files.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using Form = RunFileKind::Form;

std::string_view kind_name(std::string_view name) {
  const RunFileKind* kind = run_file_kind(name);
  return kind == nullptr ? "" : kind->name;
}

// A file without a kind would stay when the cache directory is removed.
TEST(RunFiles, AllHaveAKind) {
  const RunFiles files("");
  for (const std::string& path :
       {files.lock(), files.log(), files.status(), files.attempts(), files.faults(), files.memory(),
        files.job(0), files.job(12), files.model_hashes(), files.self_test(), files.commit_probe(),
        files.rejected_rows("a"), files.standard_input("a"), files.standard_input("a") + ".gz",
        files.standard_input("a") + ".zst", older_records_path(files.faults()),
        older_records_path(files.memory())})
    EXPECT_NE(run_file_kind(path.substr(1)), nullptr) << path;
}

// Returns the names in run_files.cc, as docs/store-format.md writes them.
std::vector<std::string> documented_names() {
  const RunFiles files("c");
  std::vector<std::string> names = {
      "job.<n>.json",       "<stream>.stdin.gz",  "<stream>.stdin.zst",
      "faults.older.jsonl", "memory.older.jsonl", files.rejected_rows("<stream>").substr(2)};
  std::istringstream source(read_bytes(source_file("src/store/run_files.cc")));
  for (std::string line; std::getline(source, line);) {
    if (!line.starts_with("constexpr std::string_view k")) continue;
    const size_t begin = line.find('"') + 1;
    const std::string name = line.substr(begin, line.find('"', begin) - begin);
    names.push_back(name.starts_with('.') ? "<stream>" + name : name);
  }
  return names;
}

TEST(RunFiles, AreInTheDocument) {
  const std::string page = read_bytes(source_file("docs/store-format.md"));
  const std::vector<std::string> names = documented_names();
  EXPECT_GT(names.size(), 16U);
  for (const std::string& name : names)
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
}

TEST(RunFiles, HaveTheNamesOfTheDocument) {
  const RunFiles files("c");
  EXPECT_EQ(files.job(0), "c/job.json");
  EXPECT_EQ(files.job(3), "c/job.3.json");
  EXPECT_EQ(files.rejected_rows("train_tc"), "c/train_tc.rejected.jsonl");
  EXPECT_EQ(files.standard_input("train_tc"), "c/train_tc.stdin");
  EXPECT_EQ(older_records_path(files.memory()), "c/memory.older.jsonl");
}

TEST(RunFileKinds, GoByTheWholeName) {
  EXPECT_EQ(kind_name("job.7.json"), "job.json");
  EXPECT_EQ(kind_name("faults.older.jsonl"), "faults.jsonl");
  EXPECT_EQ(run_file_kind("a.stdin.gz")->form, Form::kStandardInput);
  for (const char* name :
       {"", "job.x.json", "job..json", "job.1234.json", "status.older.json", "my_status.json",
        "encode.log.1", "LOCKED", "notes.jsonl", "a.stdin.bz2", "a_embeddings.npy"})
    EXPECT_EQ(run_file_kind(name), nullptr) << name;
}

}  // namespace
}  // namespace encode::testing
