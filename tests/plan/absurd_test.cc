// Refuses twenty absurd settings with whole commands, each in under a second. The weights of the
// model are a sparse file or absent, so nothing can have loaded them.
#include <ostream>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

// In all texts, @ stands for the directory of the test.
struct Absurd {
  const char* what;
  int exit_code;
  const char* code;
  std::vector<std::string> arguments;
  const char* arithmetic = "";  // a part of the message
  int64_t file_limit_bytes = 0;
};
std::ostream& operator<<(std::ostream& out, const Absurd& absurd) { return out << absurd.what; }

using Arguments = std::vector<std::string>;

Arguments with(Arguments begin, const Arguments& more) {
  begin.insert(begin.end(), more.begin(), more.end());
  return begin;
}

Arguments run(const std::string& model, const Arguments& more = {}) {
  return with({"run", "--model", "@/" + model, "--input", "@/ids.jsonl", "--field", "text",
               "--output", "@/out.npy", "--device", "cpu"},
              more);
}
Arguments plan(const std::string& model, const Arguments& more) {
  return with({"plan", "--model", "@/" + model, "--input", "@/ids.jsonl", "--field", "text",
               "--output", "@/out.npy"},
              more);
}

std::vector<Absurd> absurd_settings() {
  return {
      {"a vocabulary of ten million", 78, "model.config", run("vocabulary"), "10000000"},
      {"a width of a million", 78, "model.config", run("width"), "1000000"},
      {"a hundred thousand layers", 78, "model.config", run("depth"), "100000"},
      {"256 layers of 16,384 numbers", 78, "limit.memory", run("giant"), "256 layers"},
      {"the same in 16 bits", 78, "limit.memory", run("giant", {"--dtype", "bfloat16"}),
       "intermediate_size 1,048,576"},
      {"a run in a third of its memory", 78, "limit.memory",
       run("bert", {"--memory-limit", "200MB"}), "program and LibTorch"},
      {"a plan for the same", 78, "limit.memory",
       plan("bert", {"--device", "cpu", "--memory-limit", "200MB"}), "program and LibTorch"},
      {"a run on a GPU in less memory than LibTorch has", 78, "limit.memory",
       plan("bert", {"--gpu-memory", "24GB", "--memory-limit", "100MB"}), "program and LibTorch"},
      {"rows longer than the positions", 78, "model.max_length",
       run("bert", {"--max-length", "4096"}), "512"},
      {"rows of a billion tokens", 64, "config.value", run("bert", {"--max-length", "1000000000"}),
       "1000000000"},
      {"a billion rows in a batch", 64, "config.value", run("bert", {"--batch-size", "1000000000"}),
       "1000000000"},
      {"a batch of 2^40 tokens", 64, "config.value",
       run("bert", {"--batch-tokens", "1099511627776"}), "1099511627776"},
      {"chunks of 10^12 rows", 64, "config.value", run("bert", {"--chunk-size", "1000000000000"}),
       "1000000000000"},
      {"a million threads", 64, "config.value", run("bert", {"--threads", "1000000"}), "1000000"},
      {"a final over the file limit", 78, "limit.file_size", run("bert", {"--chunk-size", "10"}),
       "the matrix of", 600 * 1024},
      {"a chunk over the file limit", 78, "limit.file_size",
       run("bert", {"--chunk-size", "1000000", "--output-dtype", "ubinary"}), "a chunk of",
       600 * 1024},
      {"a vocabulary that no card holds", 78, "limit.memory",
       plan("wide", {"--gpu-memory", "24GB"}), "vocab_size 4,000,000 x 16,384 x 4 bytes"},
      {"28 GB of weights on 16 GB", 78, "limit.memory", plan("seven_billion", {"--gpu", "T4"}),
       "--dtype bfloat16 (semantic.dtype) needs half"},
      {"40,000 rows in a batch", 78, "limit.batch",
       plan("bert",
            {"--gpu-memory", "24GB", "--batch-size", "40000", "--batch-tokens", "20480000"}),
       "rows of 512"},
      {"two billion tokens in a batch", 78, "limit.batch",
       plan("bert", {"--gpu", "A100-80GB", "--batch-size", "0", "--batch-tokens", "2000000000"}),
       "batches of about"},
      {"10^15 rows on this disk", 74, "limit.disk",
       plan("bert", {"--gpu-memory", "24GB", "--rows", "1000000000000000"}), "chunks"},
      {"a card that is smaller than a context", 78, "plan.no_fit",
       plan("bert", {"--gpu-memory", "500MB"}), "smallest batch"},
      {"a margin that leaves nothing", 78, "plan.no_fit",
       plan("bert", {"--gpu-memory", "4GB", "--safety-margin", "0.05"}), "5 % of the 4.0 GB"},
      {"a card of another galaxy", 64, "plan.card", plan("bert", {"--gpu", "Z9000"}), "--gpu list"},
      {"a memory without a size", 64, "usage", plan("bert", {"--gpu-memory", "lots"}), "24GB"},
  };
}

std::string bert_config(const std::string& fields) {
  return R"({"model_type":"bert","num_attention_heads":16,"max_position_embeddings":512,)" +
         fields + "}";
}

class AbsurdSettings : public ::testing::Test {
 protected:
  AbsurdSettings() {
    const std::string weights = read_bytes(test_data("models/bert/model.safetensors"));
    const auto model = [&](const std::string& name, const std::string& config) {
      dir_.write(name + "/config.json", config);
      dir_.write(name + "/model.safetensors", weights);
    };
    const std::string base =
        R"("hidden_size":768,"num_hidden_layers":12,"intermediate_size":3072,"vocab_size":30522)";
    model("bert", bert_config(base));
    model(
        "vocabulary",
        bert_config(
            R"("hidden_size":768,"num_hidden_layers":12,"intermediate_size":3072,"vocab_size":10000000)"));
    model(
        "width",
        bert_config(
            R"("hidden_size":1000000,"num_hidden_layers":1,"intermediate_size":3072,"vocab_size":30522)"));
    model(
        "depth",
        bert_config(
            R"("hidden_size":768,"num_hidden_layers":100000,"intermediate_size":3072,"vocab_size":30522)"));
    model(
        "giant",
        bert_config(
            R"("hidden_size":16384,"num_hidden_layers":256,"intermediate_size":1048576,"vocab_size":30522)"));
    model(
        "wide",
        bert_config(
            R"("hidden_size":16384,"num_hidden_layers":1,"intermediate_size":16384,"vocab_size":4000000)"));
    model("seven_billion",
          R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
          R"("num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000})");
    std::string rows;
    for (int row = 0; row < 20'000; ++row) rows += "{\"text\":[5,6,7]}\n";
    dir_.write("ids.jsonl", rows);
  }

  ProgramEnd encode(const Absurd& absurd) {
    Arguments arguments = absurd.arguments;
    for (std::string& argument : arguments) {
      if (argument.starts_with("@")) argument.replace(0, 1, dir_.path());
    }
    const auto limit_files = [&absurd] {
      if (absurd.file_limit_bytes == 0) return;
      const auto bytes = static_cast<rlim_t>(absurd.file_limit_bytes);
      const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    };
    return Program(dir_.path(), arguments, {{"XDG_CACHE_HOME", dir_.file("home")}}, limit_files)
        .wait();
  }

  TempDir dir_;
};

TEST_F(AbsurdSettings, AreRefusedInUnderASecondWithTheArithmetic) {
  const std::vector<Absurd> all = absurd_settings();
  EXPECT_GE(all.size(), 20U);
  for (const Absurd& absurd : all) {
    const ProgramEnd end = encode(absurd);
    EXPECT_EQ(end.exit_code, absurd.exit_code) << absurd << "\n" << end.err;
    EXPECT_THAT(end.err, HasSubstr("error[" + std::string(absurd.code) + "]")) << absurd;
    EXPECT_THAT(end.err, HasSubstr(absurd.arithmetic)) << absurd;
    // On a loaded machine the wall clock says little, so the test measures processor time.
    EXPECT_LT(end.cpu_seconds, 1) << absurd;
    EXPECT_LT(end.peak_resident_bytes, 200 << 20) << absurd;
  }
}

// Shows that the model of the table is not refused for another reason.
TEST_F(AbsurdSettings, ControlThePlainModelGetsAPlan) {
  const ProgramEnd end = encode({"", 0, "", plan("bert", {"--gpu-memory", "24GB"})});
  EXPECT_EQ(end.exit_code, 0) << end.err;
}

}  // namespace
}  // namespace encode::testing
