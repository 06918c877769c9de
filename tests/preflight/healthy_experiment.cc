#include "healthy_experiment.h"

#include <filesystem>
#include <fmt/format.h>

namespace encode::testing {

bool Report::has(const std::string& grade, const std::string& text) const {
  for (const Json& finding : json["findings"]) {
    const std::string said = finding["check"].get<std::string>() + " " +
                             finding["code"].get<std::string>() + " " +
                             finding["found"].get<std::string>();
    if (finding["grade"] == grade && said.find(text) != std::string::npos) return true;
  }
  return false;
}

std::string Report::all() const {
  std::string text = err;
  for (const Json& finding : json["findings"]) {
    if (finding["grade"] != "green") text += finding.dump() + "\n";
  }
  return text;
}

// The directory gets modules.json and a limit, because preflight warns of a directory without them.
HealthyExperiment::HealthyExperiment() : input(dir().file("texts.txt")) {
  dir().write(
      "model/modules.json",
      R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},)"
      R"({"idx":1,"name":"1","path":"1_Pooling",)"
      R"("type":"sentence_transformers.models.Pooling"}])");
  dir().write("model/1_Pooling/config.json",
              R"({"word_embedding_dimension":64,"pooling_mode_mean_tokens":true})");
  dir().write("model/sentence_bert_config.json", R"({"max_seq_length":40,"do_lower_case":false})");
  std::string rows;
  for (int row = 0; row < 30; ++row) rows += fmt::format("a text of row {}\n", row);
  dir().write("texts.txt", rows);
  write_config("", "");
}

void HealthyExperiment::write_config(const std::string& semantic,
                                     const std::string& hardware) const {
  dir().write(
      "config.yaml",
      fmt::format("semantic:\n  model: {}\n  cache_dir: {}\n{}"
                  "hardware:\n  device: {}\n{}"
                  "data:\n  streams:\n    tc: {{{}}}\n  splits:\n    train:\n      tc: {}\n",
                  file("model"), file("cache"), semantic, device, hardware,
                  field.empty() ? "" : "field: " + field, input));
}

void HealthyExperiment::add_gpu(const Program::Environment& answers) {
  dir().write("lib/libencode_cuda.so", std::string("\x7f") + "ELF libcudart.so.13 libc.so.6");
  std::filesystem::create_directories(file("bin"));
  std::filesystem::create_symlink(built_file(FAKE_WORKER_PROGRAM), file("bin/encode-worker"));
  environment["ENCODE_WORKER"] = file("bin/encode-worker");
  environment["LD_LIBRARY_PATH"] = built_file("nvml_stand_in");
  environment.insert(answers.begin(), answers.end());
  device = "auto";
  write_config("", "");
}

void HealthyExperiment::add_fault(const Program::Environment& fault) {
  environment["LD_PRELOAD"] = built_file(FAULT_LIBRARY);
  environment["FAULT_ROOT"] = file("cache");
  environment.insert(fault.begin(), fault.end());
}

Report HealthyExperiment::preflight(const std::vector<std::string>& more) const {
  std::vector<std::string> words = {"preflight", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  if (more.empty()) words.insert(words.end(), {"--config", file("config.yaml")});
  const ProgramEnd end = Program(dir().path(), words, environment, before_exec).wait();
  return {.json = Json::parse(end.out, nullptr, /*allow_exceptions=*/false),
          .exit_code = end.exit_code,
          .err = end.err};
}

}  // namespace encode::testing
