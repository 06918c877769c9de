#include "store/verify/verify_findings.h"

#include <fmt/format.h>

#include "store/fingerprint/fingerprint.h"

namespace encode {

bool tells_about_the_file(const Error& error) {
  return error.exit_code() == ExitCode::kData || error.exit_code() == ExitCode::kIoError ||
         error.exit_code() == ExitCode::kConfig || error.exit_code() == ExitCode::kNoInput;
}

void Findings::check(const std::string& name, bool good, const Compared& compared,
                     const std::string& detail) {
  all_.push_back({.matrix = matrix_,
                  .check = name,
                  .status = good ? CheckStatus::kOk : CheckStatus::kFailed,
                  .expected = compared.expected,
                  .found = compared.found,
                  .detail = good ? "" : detail});
}

void Findings::warn(const std::string& name, const std::string& expected, const std::string& found,
                    const std::string& detail) {
  all_.push_back({.matrix = matrix_,
                  .check = name,
                  .status = CheckStatus::kWarning,
                  .expected = expected,
                  .found = found,
                  .detail = detail});
}

void Findings::check_fingerprint(const std::string& name, const StreamIdentity& found,
                                 const std::string& wanted, const std::string& where) {
  StreamIdentity run = found;
  run.fingerprint = wanted;
  const bool same = found.fingerprint == wanted;
  const int64_t version = version_of(found.fingerprint);
  const int64_t wanted_version = version_of(wanted);
  if (version != wanted_version) {
    return warn(name, fmt::format("version {}", wanted_version), fmt::format("version {}", version),
                fmt::format("{}: {}", where, describe_differences(found, run)));
  }
  check(name, same,
        {.expected = "the fingerprint of this config",
         .found = same ? "the same" : "another fingerprint"},
        same ? "" : describe_differences(found, run));
}

}  // namespace encode
