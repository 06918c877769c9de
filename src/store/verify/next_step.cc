// What to do about the failed checks of an audit.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>

#include "store/verify/verify.h"

namespace encode {
namespace {

// The checks that fail if the matrix belongs to another run. A run refuses such a matrix.
constexpr std::array<std::string_view, 4> kOfAnotherRun = {"rows", "dim", "fingerprint",
                                                           "chunk_fingerprint"};
// The checks of the values. Values that are wrong although the file is whole fail only these; a
// damaged file fails another check, too.
constexpr std::array<std::string_view, 3> kOfValues = {"finite", "zero_rows", "norms"};
constexpr std::array<std::string_view, 1> kOfInputs = {"group_rows"};

bool is_one_of(std::span<const std::string_view> checks, const std::string& check) {
  return std::find(checks.begin(), checks.end(), check) != checks.end();
}

// The advice about matrices that a merge makes. A merge checks the parts of all shards.
std::string next_merge(const VerifyReport& report) {
  constexpr const char* kEffect =
      "it names the shards that are missing or damaged, and the command that encodes them";
  return report.command.empty()
             ? fmt::format("repeat the `encode merge` of the experiment: {}", kEffect)
             : fmt::format("merge the shards ({}): {}", kEffect, report.command);
}

}  // namespace

std::string next_step(const VerifyReport& report) {
  const auto fails = [&](const auto& is_of_the_kind) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
      return finding.status == CheckStatus::kFailed && is_of_the_kind(finding.check);
    });
  };
  if (fails([](const std::string& check) { return is_one_of(kOfAnotherRun, check); })) {
    if (report.in_shards)
      return "check the matrix with the config or the flags of its own plan; to encode with these, "
             "run `encode shards plan` with another --cache-dir";
    return "check the matrix with the config or the flags of its own run; to make it again with "
           "these, add --fresh to `encode run`";
  }
  if (fails([](const std::string& check) { return is_one_of(kOfInputs, check); }))
    return "give each input of the split one row for each sample, and run `encode run` again";
  const bool damaged = fails([](const std::string& check) { return !is_one_of(kOfValues, check); });
  if (damaged && report.in_shards) return next_merge(report);
  if (damaged) {
    constexpr const char* kEffect = "makes again what is missing or damaged, and keeps the rest";
    return report.command.empty()
               ? fmt::format("repeat the `encode run` that made it: this {}", kEffect)
               : fmt::format("run this again, which {}: {}", kEffect, report.command);
  }
  if (!fails([](const std::string&) { return true; })) return "";
  return "the run itself wrote these vectors: look at the texts of the rows and at the weights of "
         "the model; --dtype float32 holds larger numbers than float16";
}

}  // namespace encode
