// How this program was built, for `encode version` and reports of defects.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace encode {

struct BuildFacts {
  std::string version;      // "0.1.0"
  std::string commit;       // "ae8150d91c2b", with "-dirty" if files were changed; or "unknown"
  std::string commit_date;  // YYYY-MM-DD; the date of CMakeLists.txt if there is no git
  std::string compiler;     // "GNU 12.2.0"
  std::string build_type;   // "RelWithDebInfo"
  std::string processor;    // "x86_64"
  // The libraries for which encode-worker and the plugins were built; "" if they were not built.
  std::string torch;                    // "2.11.0"
  std::string arrow;                    // "26"
  std::string cuda;                     // "13.0"
  std::vector<std::string> cuda_archs;  // {"75-real", "120"}
  std::vector<std::string> cpu_sets;    // instruction sets with kernels: {"baseline", "avx2"}
  std::string cpu_set;                  // the one that this machine uses
};

// Throws Error "cpu.capability" if ENCODE_CPU_CAPABILITY has a value that is not valid.
BuildFacts build_facts();

std::string render(const BuildFacts& facts);  // lines for people; the first is "encode <version>"
Json to_json(const BuildFacts& facts);

}  // namespace encode
