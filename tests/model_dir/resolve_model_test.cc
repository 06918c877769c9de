// Tests directories and hub ids. The cache has the layout of huggingface_hub: files are links into
// blobs/.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/refused.h"
#include "tiny_model.h"

namespace encode {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::TinyModel;

const std::string kCommit(40, 'a');
const std::string kOtherCommit(40, 'b');

// Unsets the environment variables that huggingface_hub reads, and sets HOME to an empty folder.
class HubCache : public ::testing::Test {
 protected:
  HubCache() {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
      ::unsetenv(name);
    ::setenv("HOME", home_.path().c_str(), 1);
  }
  std::string hub() const { return home_.file(".cache/huggingface/hub"); }

  // Makes a snapshot with links into blobs/, and refs/main that names the snapshot. Returns the
  // folder of the repository.
  static std::string add_model(const std::string& hub, const std::string& folder) {
    const std::string repository = hub + "/" + folder;
    const std::string snapshot = repository + "/snapshots/" + kCommit;
    const TinyModel model;
    fs::create_directories(repository + "/blobs");
    int blob = 0;
    for (const auto& entry : fs::recursive_directory_iterator(model.path())) {
      if (!entry.is_regular_file()) continue;
      const fs::path relative = fs::relative(entry.path(), model.path());
      const fs::path link = snapshot / relative;
      const std::string target = repository + "/blobs/" + fmt::to_string(++blob);
      fs::create_directories(link.parent_path());
      fs::copy_file(entry.path(), target);
      fs::create_symlink(fs::relative(target, link.parent_path()), link);
    }
    fs::create_directories(repository + "/refs");
    std::ofstream(repository + "/refs/main") << kCommit;
    return repository;
  }

  TempDir home_;
};

TEST_F(HubCache, IdIsFoundThroughItsRefAndOpensThroughItsLinks) {
  const std::string repository = add_model(hub(), "models--org--name");
  const std::string path = resolve_model("org/name", std::nullopt);
  EXPECT_EQ(path, fs::canonical(repository + "/snapshots/" + kCommit).string());
  const ModelDirectory directory = open_model_directory(path);
  EXPECT_EQ(directory.tensors.size(), 2u);
  EXPECT_EQ(directory.files.size(), 8u);
  EXPECT_EQ(hash_model_files(directory, ""), hash_model_files(TinyModel().open(), ""));
}

TEST_F(HubCache, EveryVariableIsLookedAt) {
  const TempDir other;
  const auto expect_found = [&](const char* variable, const std::string& value,
                                const std::string& cache) {
    add_model(cache, "models--org--name");
    ::setenv(variable, value.c_str(), 1);
    EXPECT_THAT(resolve_model("org/name", std::nullopt), HasSubstr(fs::canonical(cache).string()))
        << variable;
    ::unsetenv(variable);
  };
  expect_found("HF_HUB_CACHE", other.file("a"), other.file("a"));
  expect_found("HUGGINGFACE_HUB_CACHE", other.file("b"), other.file("b"));
  expect_found("HF_HOME", other.file("c"), other.file("c/hub"));
  expect_found("XDG_CACHE_HOME", other.file("d"), other.file("d/huggingface/hub"));
}

TEST_F(HubCache, RevisionIsABranchATagOrACommit) {
  const std::string repository = add_model(hub(), "models--org--name");
  std::ofstream(repository + "/refs/v1") << kCommit << "\n";
  EXPECT_THAT(resolve_model("org/name", "v1"), HasSubstr(kCommit));
  EXPECT_THAT(resolve_model("org/name", kCommit), HasSubstr(kCommit));
  testing::expect_refused(
      [] { resolve_model("org/name", kOtherCommit); },
      {"model.not_found", "no model of this name", kOtherCommit, "none", ExitCode::kNoInput});
  testing::expect_refused(
      [] { resolve_model("org/name", "v2"); },
      {"model.not_found", "no model of this name", "<v2>", "none", ExitCode::kNoInput});
}

TEST_F(HubCache, IdWithoutOrganisationIsSentenceTransformersToo) {
  add_model(hub(), "models--sentence-transformers--all-MiniLM-L6-v2");
  EXPECT_THAT(resolve_model("all-MiniLM-L6-v2", std::nullopt),
              HasSubstr("sentence-transformers--all-MiniLM-L6-v2"));
}

TEST_F(HubCache, ErrorListsEveryPlace) {
  ::setenv("HF_HOME", "/somewhere", 1);
  testing::expect_refused(
      [] { resolve_model("org/absent", std::nullopt); },
      {"model.not_found", "no model of this name",
       "/somewhere/hub/models--org--absent/snapshots/<main>\n" + hub() + "/models--org--absent",
       "none of them", ExitCode::kNoInput});
}

TEST_F(HubCache, RefThatIsNotACommitIsNotFollowed) {
  const std::string repository = add_model(hub(), "models--org--name");
  std::ofstream(repository + "/refs/main") << "../../../../etc";
  testing::expect_refused([] { resolve_model("org/name", std::nullopt); },
                          {"model.not_found", "no model", "<main>", "none", ExitCode::kNoInput});
}

TEST_F(HubCache, LinkOutOfTheRepositoryIsRefused) {
  const std::string repository = add_model(hub(), "models--org--name");
  const std::string config = repository + "/snapshots/" + kCommit + "/config.json";
  const TempDir outside;
  fs::remove(config);
  fs::create_symlink(outside.write("config.json", testing::kTinyConfig), config);
  testing::expect_refused([] { open_model_directory(resolve_model("org/name", std::nullopt)); },
                          {"model.symlink", "leads out", "models--org--name", outside.path()});
}

TEST_F(HubCache, DanglingLinkIsAnIncompleteDownload) {
  const std::string repository = add_model(hub(), "models--org--name");
  fs::remove(fs::canonical(repository + "/snapshots/" + kCommit + "/model.safetensors"));
  testing::expect_refused(
      [] { open_model_directory(resolve_model("org/name", std::nullopt)); },
      {"model.missing", "missing", "a file", "which does not exist", ExitCode::kNoInput});
}

TEST_F(HubCache, ADanglingLinkIsNamedAsSuch) {
  const TempDir folder;
  fs::create_symlink("../old disk/model", folder.file("model"));
  const ErrorDetail path =
      testing::refused([&] { resolve_model(folder.file("model"), std::nullopt); });
  EXPECT_EQ(path.code.name(), "model.not_found");
  EXPECT_EQ(path.found, "a symbolic link to '../old disk/model', which does not exist");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const ErrorDetail name = testing::refused([] { resolve_model("model", std::nullopt); });
  const ErrorDetail nothing = testing::refused([] { resolve_model("./none", std::nullopt); });
  fs::current_path(before);
  EXPECT_THAT(name.found, HasSubstr("which does not exist"));
  EXPECT_THAT(nothing.hint, HasSubstr("the current directory, " + folder.path()));
}

TEST_F(HubCache, IdsAndRevisionsThatClimbAreRefused) {
  for (const std::string id : {"../x", "a/b/c", "org/..", "", "org/", "/nonexistent"}) {
    testing::expect_refused(
        [&id] { resolve_model(id, std::nullopt); },
        {"model.not_found", "no model of this name", "", "", ExitCode::kNoInput});
  }
  testing::expect_refused([] { resolve_model("org/name", "../../x"); },
                          {"model.not_found", "no model", "revision", "", ExitCode::kNoInput});
}

TEST(ResolveModel, DirectoryIsItself) {
  const TinyModel model;
  EXPECT_EQ(resolve_model(model.path(), std::nullopt), fs::canonical(model.path()).string());
  testing::expect_refused([&model] { resolve_model(model.path(), "main"); },
                          {"model.revision", "belongs to a hub id", "no revision", "'main'"});
}

TEST(ResolveModel, FileIsNotADirectory) {
  const TinyModel model;
  testing::expect_refused(
      [&model] { resolve_model(model.file("config.json"), std::nullopt); },
      {"model.not_found", "no model", "a directory", "a file", ExitCode::kNoInput});
  const ErrorDetail error =
      testing::refused([&model] { resolve_model(model.file("config.json"), std::nullopt); });
  EXPECT_NE(error.hint.find("--model " + model.path()), std::string::npos) << error.hint;
}

// Only a directory with the files of a model is offered.
TEST(ResolveModel, HintOfAFileNamesNoDirectoryWithoutAModel) {
  const TempDir other;
  const std::string texts = other.write("texts.csv", "text\na\n");
  const ErrorDetail error = testing::refused([&] { resolve_model(texts, std::nullopt); });
  EXPECT_EQ(error.code.name(), "model.not_found");
  EXPECT_THAT(error.hint, HasSubstr("config.json"));
  EXPECT_THAT(error.hint, ::testing::Not(HasSubstr("--model")));
}

TEST_F(HubCache, TypoOfADirectoryGetsTheDirectory) {
  const TempDir folder;
  fs::copy(TinyModel().path(), folder.file("model"), fs::copy_options::recursive);
  fs::create_directory(folder.file("mode"));  // as near, but not a model
  for (const char* typo : {"modle", "modle/", "modl", "Model"}) {
    const ErrorDetail error =
        testing::refused([&] { resolve_model(folder.file(typo), std::nullopt); });
    EXPECT_THAT(error.hint, HasSubstr("did you mean " + folder.file("model") + "?")) << typo;
  }
  const ErrorDetail far =
      testing::refused([&] { resolve_model(folder.file("bert"), std::nullopt); });
  EXPECT_THAT(far.hint, ::testing::Not(HasSubstr("did you mean")));

  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const ErrorDetail relative = testing::refused([] { resolve_model("modle", std::nullopt); });
  fs::current_path(before);
  EXPECT_THAT(relative.hint, HasSubstr("did you mean ./model? Otherwise download it once"));
}

}  // namespace
}  // namespace encode
