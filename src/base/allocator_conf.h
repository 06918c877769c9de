// The settings of LibTorch's CUDA allocator, in the syntax of PYTORCH_ALLOC_CONF. Not thread-safe
// while another thread changes the environment.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

// One source of settings. A text is a list such as
// "expandable_segments:True,roundup_power2_divisions:[256:1,>:8]".
struct AllocatorConf {
  std::string where;  // for messages: "hardware.allocator.conf", "PYTORCH_CUDA_ALLOC_CONF"
  std::string text;
};

// Joins the sources without white space. If several sources set a key, the first source wins; if
// one source sets a key several times, the last setting wins, as in LibTorch. Throws Error kConfig
// "config.allocator" for a key that LibTorch does not know, and for a value that is not valid.
std::string merge_allocator_conf(const std::vector<AllocatorConf>& sources);

// Returns the allocator settings in the syntax of PYTORCH_ALLOC_CONF. If several sources set a key,
// the first of these wins: options.allocator_conf, the environment variables
// PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF, options.expandable_segments.
// Throws Error kConfig "config.allocator" for a setting that is not valid.
std::string allocator_settings(const HardwareOptions& options);

// Returns the options for a worker without expandable segments, even if the user asked for them in
// the config or in the environment.
HardwareOptions without_expandable_segments(HardwareOptions options);

}  // namespace encode
