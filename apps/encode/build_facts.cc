#include "build_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

#include "build_commit.h"
#include "build_settings.h"
#include "kernels/kernels.h"

namespace encode {
namespace {

std::vector<std::string> items_of(const char* list) {
  std::vector<std::string> items;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ';');) items.push_back(item);
  return items;
}

}  // namespace

BuildFacts build_facts() {
  return {.version = ENCODE_VERSION,
          .commit = build::kCommit,
          .commit_date = build::kCommitDate,
          .compiler = build::kCompiler,
          .build_type = build::kBuildType,
          .processor = build::kProcessor,
          .torch = build::kTorch,
          .arrow = build::kArrow,
          .cuda = build::kCuda,
          .cuda_archs = items_of(build::kCudaArchitectures),
          .cpu_sets = items_of(build::kInstructionSets),
          .cpu_set = kernels::to_string(kernels::capability())};
}

std::string render(const BuildFacts& facts) {
  const auto or_none = [](const std::string& version) {
    return version.empty() ? "none" : version;
  };
  const std::string cuda = facts.cuda.empty() ? "none"
                                              : fmt::format("CUDA {}, architectures {}", facts.cuda,
                                                            fmt::join(facts.cuda_archs, " "));
  return fmt::format(
      "encode {}\n"
      "commit        {} of {}\n"
      "compiler      {}, {}, {}\n"
      "LibTorch      {}\n"
      "Arrow         {}\n"
      "CUDA plugin   {}\n"
      "CPU kernels   {}; this machine uses {}\n",
      facts.version, facts.commit, facts.commit_date, facts.compiler, facts.build_type,
      facts.processor, or_none(facts.torch), or_none(facts.arrow), cuda,
      fmt::join(facts.cpu_sets, " "), facts.cpu_set);
}

Json to_json(const BuildFacts& facts) {
  return {{"version", facts.version},
          {"commit", facts.commit},
          {"commit_date", facts.commit_date},
          {"compiler", facts.compiler},
          {"build_type", facts.build_type},
          {"processor", facts.processor},
          {"libtorch", facts.torch},
          {"arrow", facts.arrow},
          {"cuda", facts.cuda},
          {"cuda_architectures", facts.cuda_archs},
          {"cpu_instruction_sets", facts.cpu_sets},
          {"cpu_instruction_set", facts.cpu_set}};
}

}  // namespace encode
