// Finds the GPU that "cuda:N" stands for.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/environment.h"
#include "run_record/nvml.h"

namespace encode {
namespace {

constexpr std::string_view kMigPrefix = "MIG-";

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Finds a GPU by its number or by the beginning of its UUID.
std::optional<size_t> find_gpu(const std::vector<GpuStatus>& gpus, std::string_view entry) {
  size_t number = 0;
  const auto [end, problem] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  if (problem == std::errc() && end == entry.data() + entry.size())
    return number < gpus.size() ? std::optional(number) : std::nullopt;
  if (entry.empty()) return std::nullopt;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].uuid.starts_with(entry)) return i;
  }
  return std::nullopt;
}

// Returns the indices of the GPUs that a process sees. Like CUDA, it stops at the first entry
// without a GPU.
std::vector<size_t> visible(const std::vector<GpuStatus>& gpus, const std::string* list) {
  std::vector<size_t> places;
  if (list == nullptr) {
    for (size_t i = 0; i < gpus.size(); ++i) places.push_back(i);
    return places;
  }
  std::string_view rest = *list;
  while (true) {
    const size_t comma = rest.find(',');
    const auto place = find_gpu(gpus, without_spaces(rest.substr(0, comma)));
    if (!place) return places;
    places.push_back(*place);
    if (comma == std::string_view::npos) return places;
    rest.remove_prefix(comma + 1);
  }
}

bool names_uuids(const GpuSelection& selection) {
  return selection.visible_devices &&
         std::string_view(*selection.visible_devices).find("GPU-") != std::string_view::npos;
}

}  // namespace

GpuSelection gpu_selection_of_environment() {
  GpuSelection selection;
  if (const char* const value = std::getenv("CUDA_VISIBLE_DEVICES"))
    selection.visible_devices = value;
  selection.device_order = environment_variable("CUDA_DEVICE_ORDER");
  return selection;
}

std::optional<size_t> visible_gpu(const std::vector<GpuStatus>& gpus, int64_t ordinal,
                                  const GpuSelection& selection) {
  const std::string* const list = selection.visible_devices ? &*selection.visible_devices : nullptr;
  // A MIG slice is not one of `gpus`.
  if (list != nullptr && list->find(kMigPrefix) != std::string::npos) return std::nullopt;
  const std::vector<size_t> places = visible(gpus, list);
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= places.size()) return std::nullopt;
  const bool same_model = std::all_of(
      gpus.begin(), gpus.end(), [&](const GpuStatus& gpu) { return gpu.name == gpus[0].name; });
  const bool ordered = selection.device_order == "PCI_BUS_ID" || names_uuids(selection);
  if (same_model || ordered) return places[static_cast<size_t>(ordinal)];
  std::vector<size_t> named;
  std::copy_if(places.begin(), places.end(), std::back_inserter(named),
               [&](size_t place) { return gpus[place].name == selection.name; });
  // With GPUs of several models CUDA puts the fastest first, so the number alone is not enough. The
  // name decides if only one GPU has it.
  if (named.size() == 1) return named.front();
  return std::nullopt;
}

}  // namespace encode
