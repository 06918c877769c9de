#include "run_plan/memory/cards.h"

#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

// The source is NVIDIA's data sheets. The memory is what nvidia-smi shows.
constexpr auto kCards = std::to_array<GpuCard>({
    {"RTX 4060", 8188, 15.1, 30.2, 60.4, true},
    {"RTX 3080", 10240, 29.8, 29.8, 59.5, true},
    {"RTX 2080 Ti", 11264, 13.4, 0, 53.8, false},
    {"RTX 3060", 12288, 12.7, 12.7, 25.5, true},
    {"RTX 4070", 12282, 29.1, 29.1, 58.3, true},
    {"T4", 15360, 8.1, 0, 65, false},
    {"P100", 16384, 9.3, 0, 18.7, false},
    {"V100-16GB", 16384, 15.7, 0, 125, false},
    {"RTX 4080", 16376, 48.7, 48.7, 97.5, true},
    {"RTX 5080", 16303, 56.3, 56.3, 112.6, true},
    {"A10G", 23028, 31.2, 35, 70, true},
    {"A10", 23028, 31.2, 62.5, 125, true},
    {"L4", 23034, 30.3, 60, 121, true},
    {"A30", 24576, 10.3, 82, 165, true},
    {"RTX 3090", 24576, 35.6, 35.6, 71.2, true},
    {"RTX 4090", 24564, 82.6, 82.6, 165.2, true},
    {"V100-32GB", 32768, 15.7, 0, 125, false},
    {"RTX 5090", 32607, 104.8, 104.8, 209.5, true},
    {"A100-40GB", 40960, 19.5, 156, 312, true},
    {"L40", 46068, 90.5, 90.5, 181, true},
    {"L40S", 46068, 91.6, 183, 362, true},
    {"A40", 46068, 37.4, 74.8, 149.7, true},
    {"RTX A6000", 49140, 38.7, 77.4, 154.8, true},
    {"RTX 6000 Ada", 49140, 91.1, 182.1, 364.2, true},
    {"A100-80GB", 81920, 19.5, 156, 312, true},
    {"H100 PCIe", 81559, 51, 378, 756, true},
    {"H100", 81559, 67, 494, 989, true},
    {"H100 NVL", 95830, 60, 417, 835, true},
    {"RTX PRO 6000", 97887, 125, 252, 504, true},
    {"GH200", 97871, 67, 494, 989, true},
    {"H200", 143771, 67, 494, 989, true},
    {"B200", 183359, 80, 1100, 2250, true},
});

// Other names that the driver or people use for cards of the table.
struct Alias {
  std::string_view name;
  std::string_view card;
};
constexpr auto kAliases = std::to_array<Alias>({
    {"A100-SXM4-40GB", "A100-40GB"},
    {"A100-PCIE-40GB", "A100-40GB"},
    {"A100-SXM4-80GB", "A100-80GB"},
    {"A100 80GB PCIe", "A100-80GB"},
    {"H100 80GB HBM3", "H100"},
    {"H100-80GB", "H100"},
    {"H100 SXM", "H100"},
    {"H200 SXM", "H200"},
    {"H200-141GB", "H200"},
    {"V100-SXM2-16GB", "V100-16GB"},
    {"V100-SXM2-32GB", "V100-32GB"},
    {"V100-PCIE-16GB", "V100-16GB"},
    {"V100-PCIE-32GB", "V100-32GB"},
    {"P100-PCIE-16GB", "P100"},
    {"RTX 6000 Ada Generation", "RTX 6000 Ada"},
    {"GH200 480GB", "GH200"},
    {"GH200 96GB HBM3", "GH200"},
});

std::string normalized(std::string_view name) {
  std::string text;
  for (const char c : lower_case(std::string(name))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) text += c;
  }
  for (const std::string_view word : {"nvidia", "geforce", "rtx", "quadro", "tesla"}) {
    if (const size_t at = text.find(word); at != std::string::npos) text.erase(at, word.size());
  }
  return text;
}

// Returns the cards whose names are `name` and a size of memory: A100-40GB and A100-80GB for
// "a100".
std::vector<const GpuCard*> cards_of_any_memory(std::string_view name) {
  const std::string wanted = normalized(name);
  std::vector<const GpuCard*> cards;
  for (const GpuCard& card : kCards) {
    std::string_view rest = card.name;
    const size_t dash = rest.rfind('-');
    if (dash == std::string_view::npos || !rest.ends_with("GB")) continue;
    if (normalized(rest.substr(0, dash)) == wanted) cards.push_back(&card);
  }
  return cards;
}

// Returns true if an AMD GPU has this name.
bool is_of_amd(std::string_view name) {
  const std::string wanted = normalized(name);
  const bool number =
      wanted.size() > 2 && wanted.starts_with("mi") && wanted[2] >= '0' && wanted[2] <= '9';
  return number || wanted.find("instinct") != std::string::npos ||
         wanted.find("radeon") != std::string::npos;
}

std::string list_of(const std::vector<const GpuCard*>& cards) {
  std::string list;
  for (const GpuCard* card : cards)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", card->name);
  return list;
}

}  // namespace

std::span<const GpuCard> gpu_cards() { return kCards; }

const GpuCard* find_card(std::string_view name) {
  std::string wanted = normalized(name);
  for (const Alias& alias : kAliases) {
    if (normalized(alias.name) == wanted) wanted = normalized(alias.card);
  }
  for (const GpuCard& card : kCards) {
    if (normalized(card.name) == wanted) return &card;
  }
  return nullptr;
}

const GpuCard& require_card(const std::string& name) {
  if (const GpuCard* card = find_card(name)) return *card;
  ErrorDetail detail = {.code = "plan.card",
                        .what = "the GPU is not in the table of cards",
                        .where = "--gpu",
                        .expected = {},
                        .found = preview(name),
                        .hint = {}};
  const std::vector<const GpuCard*> sizes = cards_of_any_memory(name);
  if (!sizes.empty()) {
    detail.what = "the GPU is made with different memory";
    detail.expected = "one of: " + list_of(sizes);
    detail.hint = fmt::format("name the one that you mean, as in --gpu {}", sizes.front()->name);
    throw Error(std::move(detail));
  }
  std::vector<std::string> names;
  for (const GpuCard& card : kCards) names.emplace_back(card.name);
  detail.expected = one_of(names, name);
  const std::string near = nearest(name, names.data(), names.size());
  detail.hint =
      fmt::format("{}encode plan --gpu list shows the cards; for any other card: --gpu-memory 24GB",
                  near.empty() ? "" : fmt::format("did you mean '{}'? ", near));
  if (is_of_amd(name)) {
    detail.what = "the GPU is one of AMD";
    detail.hint = "encode computes on NVIDIA GPUs (CUDA) and on CPUs";
  }
  throw Error(std::move(detail));
}

}  // namespace encode
