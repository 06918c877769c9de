#include "fault_run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/npy.h"
#include "real_run.h"

namespace encode::testing {

bool fault_soak() { return std::getenv("FAULT_SOAK") != nullptr; }

int64_t FaultRun::times_happened(const std::string& fault) const {
  int64_t times = 0;
  std::ifstream(dir_.file("counters/" + fault)) >> times;
  return times;
}

FaultRun::FaultRun(std::vector<int64_t> poison) {
  std::filesystem::copy(RealRun("bert", 0).dir().file("model"), dir_.file("model"));
  std::filesystem::create_directory(dir_.file("counters"));
  config.store.cache_dir = dir_.file("cache");
  config.store.chunk_size = 20;
  config.hardware.device = parse_device("cpu");
  environment.worker.program = built_file(FAKE_WORKER_PROGRAM);
  environment.worker.kill_grace = std::chrono::minutes(2);  // a busy machine ends processes slowly
  environment.first_restart_delay_seconds = 0.01;
  environment.version = "test";
  add_stream("tc", poison);
}

void FaultRun::add_stream(const std::string& stream, const std::vector<int64_t>& poison) {
  write_texts(stream, poison);
  StreamConfig& added = config.streams.emplace_back();
  added.split = "train";
  added.stream = stream;
  added.input.path = dir_.file(stream + ".txt");
  added.result.model = dir_.file("model");
  added.result.normalize = true;
  // Two threads, and batches of a few rows, so that a run has about 30 batches.
  added.speed = {.batch_tokens = 48, .threads = 2};
}

void FaultRun::write_texts(const std::string& stream, const std::vector<int64_t>& poison) const {
  std::string lines;
  for (int64_t row = 0; row < kRows; ++row) {
    std::string text;
    for (int64_t i = 0; i < 2 + row * 7 % 13; ++i) {
      // No two texts are equal, so that each row is in a batch.
      text += static_cast<char>('a' + (row * 5 + i * 3 + row / 26 * (i + 1)) % 26);
      if (i % 4 == 3) text += ' ';
    }
    if (std::find(poison.begin(), poison.end(), row) != poison.end()) text += " Q";
    lines += text + "\n";
  }
  dir_.write(stream + ".txt", lines);
}

FaultRunEnd FaultRun::run(const std::string& faults) {
  // A busy machine must not take another fault for a hang.
  const bool hangs = faults.find("hang") != std::string::npos;
  environment.worker.hang_floor = std::chrono::seconds(hangs ? 2 : 60);
  ::setenv("FAULTS", faults.c_str(), 1);
  ::setenv("FAULT_COUNTERS", dir_.file("counters").c_str(), 1);
  const std::string log_path = dir_.file("terminal.txt");
  FaultRunEnd end;
  {
    const UniqueFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    const UniqueFd out(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Terminal err_terminal(log.get());
    Terminal out_terminal(out.get());
    try {
      run_experiment(config, environment, err_terminal, out_terminal);
    } catch (const Error& error) {
      end.exit_code = error.exit_code();
      end.error = error.detail();
    }
  }
  end.log = read_bytes(log_path);
  return end;
}

std::vector<float> FaultRun::row(int64_t row, const std::string& stream) const {
  const std::string bytes = read_bytes(final(stream));
  const NpyHeader header = read_npy_header(final(stream));
  std::vector<float> values(static_cast<size_t>(header.cols));
  const size_t size = values.size() * sizeof(float);
  std::memcpy(values.data(), bytes.data() + kNpyHeaderBytes + static_cast<size_t>(row) * size,
              size);
  return values;
}

std::vector<std::vector<float>> undisturbed(const std::vector<int64_t>& poison) {
  FaultRun run(poison);
  const FaultRunEnd end = run.run();
  if (end.exit_code != ExitCode::kOk) throw Error(end.error);
  std::vector<std::vector<float>> rows;
  for (int64_t row = 0; row < FaultRun::kRows; ++row) rows.push_back(run.row(row));
  return rows;
}

}  // namespace encode::testing
