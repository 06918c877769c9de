// Flips bits of a small cache, and prints what came of it. Usage:
//   cache_flips DIR headers|branches|all|FIRST:STEP
// DIR must not exist. Returns 1 if a flip had a consequence that it must not have.
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "bit_flips.h"

int main(int argc, char** argv) {
  using namespace encode::testing;
  if (argc != 3) return 2;
  const FlipStore store(argv[1]);
  const std::string which = argv[2];
  std::vector<int64_t> bits;
  if (which == "headers") {
    bits = store.bits_of_headers();
  } else if (which == "branches") {
    bits = store.bits_of_branches();
  } else {
    const size_t colon = which.find(':');
    const bool some = colon != std::string::npos;
    const int64_t step = some ? std::stoll(which.substr(colon + 1)) : 1;
    for (int64_t bit = some ? std::stoll(which) : 0; bit < store.bits(); bit += step)
      bits.push_back(bit);
  }
  const FlipCounts counts = store.flip(bits);
  for (const std::string& failure : counts.failures) fmt::print("FAILED {}\n", failure);
  fmt::print(
      "{} of {} bits flipped: {} found as damage, {} without a consequence, {} ended a run's "
      "worker, "
      "{} failed\n",
      counts.flips, store.bits(), counts.damaged, counts.unnoticed, counts.died,
      counts.failures.size());
  return counts.failures.empty() ? 0 : 1;
}
