#include "supervisor/experiment.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "base/file.h"

namespace encode::testing {

Experiment::Experiment() {
  for (const std::string stream : {"tc", "commit"}) {
    write_input(stream, kRows, stream);
    StreamConfig& added = config.streams.emplace_back();
    added.split = "train";
    added.stream = stream;
    added.input.path = dir_.file(stream + ".jsonl");
    added.input.field = "text";
    added.result.model = test_data("models/bert");
  }
  config.store.cache_dir = dir_.file("cache");
  config.store.chunk_size = 5;
  config.hardware.device = parse_device("cpu");
  environment.worker.program = built_file(FAKE_WORKER_PROGRAM);
  environment.worker.hang_floor = std::chrono::seconds(1);
  environment.worker.loading_patience = std::chrono::seconds(4);
  environment.first_restart_delay_seconds = 0.01;
  environment.version = "test";
}

void Experiment::write_input(const std::string& stream, int64_t rows,
                             const std::string& salt) const {
  std::string lines;
  for (int64_t row = 0; row < rows; ++row) {
    lines += fmt::format("{{\"text\":\"{} row {}\"}}\n", salt, row);
  }
  dir_.write(stream + ".jsonl", lines);
}

RunResult Experiment::run(const std::string& misdeed) {
  std::error_code ignored;
  std::filesystem::remove(cache("misdeeds"), ignored);
  ::setenv("FAKE_WORKER", misdeed.c_str(), 1);
  if (misdeed.empty()) ::unsetenv("FAKE_WORKER");
  const std::string log_path = dir_.file("terminal.txt");
  const std::string out_path = dir_.file("stdout.txt");
  RunResult result;
  {
    const UniqueFd log_fd(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    const UniqueFd out_fd(::open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    Terminal err(log_fd.get());
    Terminal out(out_fd.get());
    try {
      run_experiment(config, environment, err, out);
    } catch (const Error& error) {
      result.exit_code = error.exit_code();
      result.error = error.detail();
    }
  }
  result.log = read_bytes(log_path);
  result.out = read_bytes(out_path);
  return result;
}

std::vector<int64_t> Experiment::take_encoded_chunks() const {
  std::vector<int64_t> chunks;
  std::ifstream file(cache("encoded_chunks"));
  for (int64_t chunk = 0; file >> chunk;) chunks.push_back(chunk);
  std::filesystem::remove(cache("encoded_chunks"));
  return chunks;
}

std::string undisturbed_tc() {
  static const std::string bytes = [] {
    Experiment experiment;
    const RunResult result = experiment.run();
    if (result.exit_code != ExitCode::kOk) throw Error(result.error);
    return experiment.read(experiment.tc());
  }();
  return bytes;
}

}  // namespace encode::testing
