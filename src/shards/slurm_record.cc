#include "shards/slurm_record.h"

#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kRecordFormat = 1;
constexpr ErrorCode kDamagedRecord = "store.damaged";

std::vector<SlurmJobId> parse_record(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const Json json = unseal_file(path, kMostBytes, kDamagedRecord).object;
  const JsonFields fields(json, path, kDamagedRecord);
  fields.integer("format", kRecordFormat, kRecordFormat);
  std::vector<SlurmJobId> jobs;
  for (const Json& entry : fields.array("jobs")) {
    const JsonFields job(entry, path, kDamagedRecord);
    jobs.push_back({.number = job.string("job"), .cluster = job.string("cluster")});
    if (!is_slurm_number(jobs.back().number)) job.refuse("job", "the number of a job");
  }
  return jobs;
}

}  // namespace

std::string slurm_record_path(const std::string& cache_dir) {
  return join_path(cache_dir, "slurm.json");
}

std::vector<SlurmJobId> read_slurm_record(const std::string& cache_dir) {
  const std::string path = slurm_record_path(cache_dir);
  if (!entry_exists(path, kDamagedRecord)) return {};
  try {
    return parse_record(path);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    ErrorDetail detail = error.detail();
    detail.hint = "look with squeue whether jobs of this experiment are left, then delete the file";
    throw Error(std::move(detail));
  }
}

void write_slurm_record(const std::string& cache_dir, const std::vector<SlurmJobId>& jobs) {
  Json list = Json::array();
  for (const SlurmJobId& job : jobs)
    list.push_back({{"job", job.number}, {"cluster", job.cluster}});
  write_file_durably(slurm_record_path(cache_dir),
                     seal({{"format", kRecordFormat}, {"jobs", std::move(list)}}) + "\n");
}

}  // namespace encode
