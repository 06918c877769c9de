// Provokes errors of every kind with whole commands, and checks their codes and exit codes.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_table.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// In all strings of this struct, @ stands for the directory of the test.
struct Provocation {
  const char* code;
  int exit_code;
  std::vector<std::string> arguments;
  std::string config = {};  // the text of c.yaml
  std::string worker = {};  // FAKE_WORKER; "none": there is no worker
};

std::ostream& operator<<(std::ostream& out, const Provocation& p) { return out << p.code; }

std::vector<std::string> run(const std::string& input, const std::string& field = "text") {
  return {"run", "--model", "@/model", "--output", "@/out.npy", "--input", input, "--field", field};
}
std::vector<std::string> run_model(const std::string& model) {
  return {"run", "--model", model, "--output", "@/out.npy", "--input", "@/good.txt"};
}
std::vector<std::string> run_to(const std::string& output) {
  return {"run", "--model", "@/model", "--output", output, "--input", "@/good.txt"};
}
std::vector<std::string> tokenize(const std::string& input, const std::string& output) {
  return {"tokenize", "--tokenizer", "@/tokenizer.json", "--input", input, "--output", output};
}
const std::vector<std::string> kByConfig = {"run", "--config", "@/c.yaml"};
const std::string kSemantic = "semantic:\n  model: @/model\n  cache_dir: @/cache\n";

std::vector<Provocation> provocations() {
  const std::string two_streams =
      "data:\n  splits:\n    train:\n      tc: @/good.txt\n      commit: @/good.txt\n";
  const std::string no_restart = kSemantic + two_streams + "hardware:\n  max_restarts: 0\n";
  return {
      {"combine.pooling", 78, kByConfig,
       kSemantic + "  pooling: none\noutput: {combine: [tc, commit]}\n" + two_streams},
      {"compare.shape", 65, {"compare", "@/a.npy", "@/b.npy"}},
      {"config.limit", 78, kByConfig, std::string(size_t{2} << 20, '#')},
      {"csv.fields", 65, run("@/fields.csv")},
      {"gzip.truncated", 65, run("@/cut.jsonl.gz")},
      {"zstd.truncated", 65, run("@/cut.jsonl.zst")},
      {"io.create", 73, tokenize("@/good.txt", "@/missing/ids.jsonl")},
      {"jsonl.blank", 65, run("@/blank.jsonl")},
      {"jsonl.type", 65, run("@/number.jsonl")},
      {"log.open", 73, kByConfig, kSemantic + two_streams + "log:\n  file: @/missing/x.log\n"},
      {"model.tokenizer_config", 78, run_model("@/bad_tokenizer_config")},
      {"npy.matrix", 65, {"compare", "@/int8.npy", "@/int8.npy"}},
      {"npy.open", 66, {"compare", "@/nowhere.npy", "@/a.npy"}},
      {"output.exists", 73, run_to("@/note.npy")},
      {"output.protected",
       73,
       {"run", "--model", "@/model", "--output", "@/texts.npy", "--input", "@/texts.npy",
        "--format", "lines"}},
      {"tokenize.input_ids",
       65,
       {"tokenize", "--tokenizer", "@/tokenizer.json", "--input", "@/ids.jsonl", "--field",
        "input_ids", "--output", "@/out.jsonl"}},
      {"usage", 64, {"run", "--modell", "x"}},
      {"job.protocol", 78, kByConfig, no_restart, "other_build:-1:100"},
      {"worker.garbage", 70, kByConfig, no_restart, "noise:0:100"},
      {"worker.incomplete", 70, kByConfig, no_restart, "lie:0:100"},
      {"worker.spawn", 71, run_model("@/model"), "", "none"},
  };
}

class Codes : public ::testing::TestWithParam<Provocation> {
 protected:
  Codes() {
    dir_.write("good.txt", "a\nb\n");
    dir_.write("note.npy", "a text of the user");
    dir_.write("texts.npy", "a\nb\n");
    dir_.write("fields.csv", "id,text\n1,a\n2\n");
    dir_.write("blank.jsonl", "{\"text\":\"a\"}\n\n{\"text\":\"a\"}\n");
    dir_.write("number.jsonl", "{\"text\":1}\n");
    dir_.write("ids.jsonl", "{\"input_ids\":[1,2]}\n");
    dir_.write("cut.jsonl.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab", 11));
    dir_.write("cut.jsonl.zst", std::string("\x28\xb5\x2f\xfd\x04\x58", 6));
    const std::string vectors = std::string(8, '\0');
    dir_.write("a.npy", npy("<f4", "(1, 2)") + vectors);
    dir_.write("b.npy", npy("<f4", "(2, 1)") + vectors);
    dir_.write("int8.npy", npy("|i1", "(1, 8)") + vectors);
    dir_.write("tokenizer.json", read_bytes(test_data("tokenizer/wordpiece/tokenizer.json")));
    for (const std::string model : {"model", "bad_tokenizer_config"}) {
      for (const std::string name : {"config.json", "model.safetensors"})
        dir_.write(model + "/" + name, read_bytes(test_data("models/bert/" + name)));
    }
    dir_.write("bad_tokenizer_config/tokenizer_config.json", "{");
  }

  static std::string npy(const std::string& type, const std::string& shape) {
    std::string text =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    text.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + text + "\n";
  }
  std::string in_dir(const std::string& text) const { return with_folder(text, dir_.path()); }

  TempDir dir_;
};

TEST_P(Codes, AreInTheTableWithTheirExitCodes) {
  const Provocation& p = GetParam();
  dir_.write("c.yaml", in_dir(p.config));
  std::vector<std::string> arguments;
  for (const std::string& argument : p.arguments) arguments.push_back(in_dir(argument));
  Program::Environment environment;
  if (p.worker == "none") environment["ENCODE_WORKER"] = "/nonexistent/encode-worker";
  if (!p.worker.empty() && p.worker != "none") environment["FAKE_WORKER"] = p.worker;
  const ProgramEnd end = Program(dir_.path(), arguments, environment).wait();
  EXPECT_EQ(end.exit_code, p.exit_code) << end.err;
  EXPECT_NE(end.err.find("error[" + std::string(p.code) + "]"), std::string::npos) << end.err;
  const std::span<const ErrorFacts> table = error_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const ErrorFacts& facts) {
    return (" " + std::string(facts.codes) + " ").find(" " + std::string(p.code) + " ") !=
           std::string::npos;
  });
  ASSERT_NE(row, table.end());
  EXPECT_THAT(row->exits, ::testing::Contains(static_cast<ExitCode>(p.exit_code)));
}

INSTANTIATE_TEST_SUITE_P(All, Codes, ::testing::ValuesIn(provocations()), [](const auto& test) {
  std::string name = test.param.code;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace encode::testing
