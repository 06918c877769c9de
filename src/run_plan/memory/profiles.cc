#include "run_plan/memory/profiles.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/json_values.h"
#include "base/path_kind.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr size_t kMostProfiles = 64;
constexpr JsonLimits kLimits = {.max_bytes = 1 << 20, .max_depth = 4};
constexpr ErrorCode kCode = "plan.profiles";
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr double kMostFlops = 1e18;

MemoryProfile profile_from(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kCode);
  return {.device = fields.string("device"),
          .libtorch = fields.string("libtorch"),
          .encode = fields.string("encode"),
          .dtype = fields.string("dtype"),
          .model_type = fields.string("model_type"),
          .hidden_size = fields.integer("hidden_size", 1, kMostBytes),
          .estimated_bytes = fields.integer("estimated_bytes", 1, kMostBytes),
          .measured_bytes = fields.integer("measured_bytes", 1, kMostBytes),
          .flops_per_second = fields.number("flops_per_second", 0, kMostFlops)};
}

Json to_json(const MemoryProfile& profile) {
  return {{"device", profile.device},
          {"libtorch", profile.libtorch},
          {"encode", profile.encode},
          {"dtype", profile.dtype},
          {"model_type", profile.model_type},
          {"hidden_size", profile.hidden_size},
          {"estimated_bytes", profile.estimated_bytes},
          {"measured_bytes", profile.measured_bytes},
          {"flops_per_second", profile.flops_per_second}};
}

std::vector<MemoryProfile> read_profiles(const std::string& path) {
  const Json file = read_json_file(path, kLimits, kCode);
  const JsonFields fields(file, path, kCode);
  const int64_t format = fields.integer("format", 0, kMostBytes);
  if (format != kFormat) fields.refuse("format", fmt::to_string(kFormat), fmt::to_string(format));
  std::vector<MemoryProfile> profiles;
  for (const Json& json : fields.array("profiles")) profiles.push_back(profile_from(json, path));
  return profiles;
}

}  // namespace

Profiles::Profiles(std::string path) : path_(std::move(path)) {
  if (path_.empty() || !path_exists(path_, kCode)) return;
  try {
    profiles_ = read_profiles(path_);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kConfig) throw;
    note_ = fmt::format("earlier profiles are not used: {} ({}, expected {}, found {})", path_,
                        error.detail().what, error.detail().expected, error.detail().found);
  }
}

double Profiles::correction(const std::string& device, const std::string& encode_version) const {
  constexpr size_t kLatest = 5;
  constexpr double kLeast = 0.8;
  constexpr double kMost = 1.25;
  std::vector<double> ratios;
  for (auto profile = profiles_.rbegin(); profile != profiles_.rend() && ratios.size() < kLatest;
       ++profile) {
    if (profile->device != device || profile->encode != encode_version) continue;
    ratios.push_back(static_cast<double>(profile->measured_bytes) /
                     static_cast<double>(profile->estimated_bytes));
  }
  if (ratios.empty()) return 1;
  std::sort(ratios.begin(), ratios.end());
  return std::clamp(ratios[ratios.size() / 2], kLeast, kMost);
}

std::optional<double> Profiles::flops_per_second(const MemoryProfile& like) const {
  std::optional<double> any;
  for (auto profile = profiles_.rbegin(); profile != profiles_.rend(); ++profile) {
    const bool usable = profile->device == like.device && profile->dtype == like.dtype &&
                        profile->flops_per_second > 0;
    if (!usable) continue;
    if (profile->model_type == like.model_type && profile->hidden_size == like.hidden_size)
      return profile->flops_per_second;
    if (!any) any = profile->flops_per_second;
  }
  return any;
}

void Profiles::add(const MemoryProfile& profile) {
  profiles_.push_back(profile);
  if (profiles_.size() > kMostProfiles) profiles_.erase(profiles_.begin());
  if (path_.empty()) return;
  const Json list = array_of(profiles_, [](const auto& each) { return to_json(each); });
  create_directories_durably(parent_directory(path_));
  write_file_durably(path_, Json{{"format", kFormat}, {"profiles", list}}.dump(2) + "\n");
}

std::string profiles_path() {
  const std::string cache = environment_variable("XDG_CACHE_HOME");
  const std::string home = environment_variable("HOME");
  if (cache.empty() && home.empty()) return "";
  return (cache.empty() ? home + "/.cache" : cache) + "/encode/memory_profiles.json";
}

}  // namespace encode
