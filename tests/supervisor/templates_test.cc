// Tests runs whose texts are made from several fields, with the fake worker: they give the bytes of
// a run on the finished texts, whatever happens.
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/cli_table.h"
#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The texts of its first stream are those of an Experiment without templates.
class TemplateExperiment : public Experiment {
 public:
  TemplateExperiment() {
    write_rows(kRows, "tc");
    InputOptions& input = config.streams[0].input;
    input.field = "";
    input.text_template = "{name} row {/at/n}";
  }
  void write_rows(int64_t rows, const std::string& name) const {
    std::string lines;
    for (int64_t row = 0; row < rows; ++row)
      lines += fmt::format("{{\"at\":{{\"n\":{}}},\"name\":\"{}\"}}\n", row, name);
    dir().write("tc.jsonl", lines);
  }
};

TEST(Templates, GiveTheBytesOfTheFinishedTexts) {
  for (const bool chunked : {true, false}) {
    TemplateExperiment experiment;
    experiment.config.store.use_chunked_encoding = chunked;
    ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
    EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
  }
}

TEST(Templates, AKilledRunGoesOnToTheSameBytes) {
  TemplateExperiment experiment;
  experiment.config.hardware.max_restarts = 0;
  EXPECT_NE(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(0, 1));
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
  EXPECT_THAT(experiment.run().log, HasSubstr("already done"));
}

// As if somebody had corrected the template, or a value that only the template uses, while the run
// was interrupted: its chunks are of other texts.
TEST(Templates, AnotherTemplateOrAnotherValueIsAnotherInput) {
  for (const std::string changed : {"template", "policy", "value"}) {
    TemplateExperiment experiment;
    experiment.config.hardware.max_restarts = 0;
    EXPECT_NE(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
    experiment.take_encoded_chunks();
    InputOptions& input = experiment.config.streams[0].input;
    if (changed == "template") input.text_template = "{name} row {/at/n}.";
    if (changed == "policy") input.missing_field = MissingFieldPolicy::kEmpty;
    if (changed == "value") experiment.write_rows(Experiment::kRows, "tx");
    const RunResult refused = experiment.run();
    EXPECT_EQ(refused.exit_code, ExitCode::kConfig) << changed;
    EXPECT_THAT(refused.error.hint, HasSubstr("--fresh")) << changed;
    EXPECT_TRUE(experiment.take_encoded_chunks().empty()) << changed;
  }
}

TEST(Templates, TheManifestHasTheTemplate) {
  TemplateExperiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const auto input_of = [&](const std::string& matrix) {
    const Json manifest = Json::parse(experiment.read(matrix + ".manifest.json"));
    return manifest.at("fingerprint").at("input");
  };
  EXPECT_EQ(input_of(experiment.tc()).at("text"), "{name} row {/at/n}");
  EXPECT_FALSE(input_of(experiment.commit()).contains("text"));
}

TEST(Templates, AFieldThatNoRowHasIsNamedIfMissingFieldsAreEmpty) {
  TemplateExperiment experiment;
  InputOptions& input = experiment.config.streams[0].input;
  input.text_template = "{name}{nmae}";
  EXPECT_EQ(experiment.run().error.code.name(), "jsonl.missing");
  input.missing_field = MissingFieldPolicy::kEmpty;
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, HasSubstr("has 'nmae'"));
  EXPECT_THAT(TemplateExperiment().run().log, Not(HasSubstr("no row at the beginning")));
}

// Every command that reads the texts of a run reads them with its template.
class CliTemplates : public CliTable {
 protected:
  CliTemplates() : CliTable({"--text", "{title}: {n}", "--columns", "text,id"}) {}
};

TEST_F(CliTemplates, AreReadByEveryCommand) {
  // The fake worker makes no vectors for the check of the worker.
  EXPECT_THAT(encode("preflight", {"--verbose"}).out, HasSubstr("green   input out"));
  for (const char* command : {"plan", "run"}) {
    const ProgramEnd end = encode(command);
    EXPECT_EQ(end.exit_code, 0) << command << end.out << end.err;
  }
  const std::string out = dir_.file("out.parquet");
  const ProgramEnd found = other({"search", out, "T7: 7", "--model", kModel});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("T7: 7"));
  EXPECT_THAT(found.out, HasSubstr("k7"));
  const ProgramEnd report = other({"report", out, "--output", dir_.file("page.html")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
}

TEST_F(CliTemplates, AreMadeFromStandardInput) {
  const std::string table = dir_.write("piped", "title,n\nT,1\n");
  const ProgramEnd end =
      Program(dir_.path(),
              {"run", "--model", kModel, "--input", "-", "--text", "{title}: {n}", "--output",
               dir_.file("out.parquet"), "--columns", "text"},
              {}, [&] { ::dup2(::open(table.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO); })
          .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("standard input is read as csv"));
}

TEST_F(CliTemplates, RefuseAnErrorOfTheCommandLine) {
  for (const char* command : {"run", "tokenize"}) {
    const auto end_of = [&](const std::string& input, const std::vector<std::string>& more) {
      std::vector<std::string> words = {
          command,    "--model",           kModel, "--input", dir_.file(input),
          "--output", dir_.file("new.npy")};
      words.insert(words.end(), more.begin(), more.end());
      return other(words);
    };
    const ProgramEnd both = end_of("in.jsonl", {"--text", "{title}", "--field", "title"});
    EXPECT_EQ(both.exit_code, 64) << command;
    EXPECT_THAT(both.err, HasSubstr("field and text exclude each other"));
    const ProgramEnd open = end_of("in.jsonl", {"--text", "{title"});
    EXPECT_EQ(open.exit_code, 64) << command;
    EXPECT_THAT(open.err, HasSubstr("where     --text\n")) << command;
    EXPECT_EQ(end_of("in.jsonl", {"--text", "title"}).exit_code, 64) << command;
    EXPECT_EQ(end_of("in.txt", {"--text", "{title}"}).exit_code, 64) << command;
    const ProgramEnd unknown = end_of("in.jsonl", {"--text", "{id} {titel}"});
    EXPECT_EQ(unknown.exit_code, 65) << command;
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'title'?"));
  }
}

}  // namespace
}  // namespace encode::testing
