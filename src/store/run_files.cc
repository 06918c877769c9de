#include "store/run_files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/own_files.h"
#include "store/layout.h"

namespace encode {
namespace {

using Form = RunFileKind::Form;

constexpr std::string_view kLock = "LOCK";
constexpr std::string_view kLog = "encode.log";
constexpr std::string_view kStatus = "status.json";
constexpr std::string_view kAttempts = "attempts.json";
constexpr std::string_view kFaults = "faults.jsonl";
constexpr std::string_view kMemory = "memory.jsonl";
constexpr std::string_view kJob = "job.json";
constexpr std::string_view kModelHashes = "model_hashes.json";
constexpr std::string_view kSelfTest = "self_test.json";
// From earlier versions with hardware.product_search, as kProductsLock.
constexpr std::string_view kProducts = "products.json";
constexpr std::string_view kProductsLock = "products_lock";
constexpr std::string_view kOwnAttempts = "attempts";
constexpr std::string_view kCommitProbe = "commit_probe";
constexpr std::string_view kStandardInput = ".stdin";

constexpr auto kKinds = std::to_array<RunFileKind>({
    {kAttempts, Form::kMarked, {"\"fingerprints\"", "\"failures\""}},
    {kCommitProbe, Form::kMarked, {kCommitProbeText, kCommitProbeText}},
    {kJob, Form::kMarked, {"\"cache_dir\"", "\"units\""}},
    {kModelHashes, Form::kMarked, {"\"entries\"", "\"version\""}},
    {kProducts, Form::kMarked, {"\"checksum\"", "\"cublaslt\""}},
    {kSelfTest, Form::kMarked, {"\"checksum\"", "\"vectors\""}},
    {kStatus, Form::kMarked, {"\"boot_id\"", "\"monotonic_seconds\""}},
    {kFaults, Form::kRecords},
    {kMemory, Form::kRecords},
    {kLog, Form::kLog},
    {kLock, Form::kLock},
    {kProductsLock, Form::kLock},
    {kRejectedRowsSuffix, Form::kRejectedRows},
    {kFileListSuffix, Form::kFileList, {"\"bytes\":[", "\"bytes\":["}},
    {kStandardInput, Form::kStandardInput},
    {".stdin.gz", Form::kStandardInput},
    {".stdin.zst", Form::kStandardInput},
});

// Returns the text between "job." and ".json" in the name, or "" for another name.
std::string_view number_of_job(std::string_view name) {
  constexpr std::string_view kPrefix = "job.";
  constexpr std::string_view kSuffix = ".json";
  const bool longer = name.size() > kPrefix.size() + kSuffix.size();
  if (!longer || !name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return "";
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
}

bool has_name(const RunFileKind& kind, std::string_view name) {
  if (kind.of_stream()) return name.ends_with(kind.name);
  if (name == kind.name) return true;
  if (kind.form == Form::kRecords) return name == older_records_path(std::string(kind.name));
  const std::string_view number = kind.name == kJob ? number_of_job(name) : "";
  return !number.empty() && number.size() <= 3 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string RunFiles::path(std::string_view name) const { return join_path(cache_dir_, name); }

std::string RunFiles::lock() const { return path(kLock); }
std::string RunFiles::log() const { return path(kLog); }
std::string RunFiles::status() const { return path(kStatus); }
std::string RunFiles::attempts() const { return path(kAttempts); }
std::string RunFiles::faults() const { return path(kFaults); }
std::string RunFiles::memory() const { return path(kMemory); }
std::string RunFiles::job(size_t worker) const {
  return path(worker == 0 ? std::string(kJob) : fmt::format("job.{}.json", worker));
}
std::string RunFiles::model_hashes() const { return path(kModelHashes); }
std::string RunFiles::self_test() const { return path(kSelfTest); }
std::string RunFiles::commit_probe() const { return path(kCommitProbe); }
std::string RunFiles::own_attempts() const { return path(kOwnAttempts); }
std::string RunFiles::rejected_rows(const std::string& stream) const {
  return path(stream + std::string(kRejectedRowsSuffix));
}
std::string RunFiles::file_list(const std::string& stream) const {
  return path(stream + std::string(kFileListSuffix));
}
std::string RunFiles::standard_input(const std::string& stream) const {
  return path(stream + std::string(kStandardInput));
}

std::string older_records_path(const std::string& path) {
  std::filesystem::path older(path);
  const std::string extension = older.extension().string();
  return older.replace_extension(".older" + extension).string();
}

const RunFileKind* run_file_kind(std::string_view name) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const RunFileKind& kind) { return has_name(kind, name); });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace encode
