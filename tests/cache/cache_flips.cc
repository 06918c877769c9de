// Flips bits of a small cache, and prints the consequences. Usage:
//   cache_flips DIR headers|branches|FIRST:STEP    flips these bits
//   cache_flips DIR list                           only prints the bits of headers and branches
// DIR must not exist. Returns 1 if a flip had a consequence that it must not have.
#include <fmt/format.h>
#include <string>
#include <vector>

#include "bit_flips.h"

namespace {

using encode::testing::FlipStore;

// Returns the bits that the second argument of the program names.
std::vector<int64_t> bits_of(const FlipStore& store, const std::string& word) {
  if (word == "headers") return store.bits_of_headers();
  if (word == "branches") return store.bits_of_branches();
  const size_t colon = word.find(':');
  std::vector<int64_t> bits;
  for (int64_t bit = std::stoll(word); bit < store.bits();
       bit += std::stoll(word.substr(colon + 1)))
    bits.push_back(bit);
  return bits;
}

}  // namespace

int main(int argc, char** argv) {
  using encode::testing::FlipCounts;
  if (argc != 3) return 2;
  const FlipStore store(argv[1]);
  const std::string word = argv[2];
  if (word == "list") {
    for (const char* const part : {"headers", "branches"}) {
      for (const int64_t bit : bits_of(store, part)) fmt::print("{}\n", bit);
    }
    return 0;
  }
  const FlipCounts counts = store.flip(bits_of(store, word));
  for (const std::string& failure : counts.failures) fmt::print("FAILED {}\n", failure);
  fmt::print(
      "{} of {} bits flipped: {} found as damage, {} without a consequence, {} ended a run's "
      "worker, "
      "{} failed\n",
      counts.flips, store.bits(), counts.damaged, counts.unnoticed, counts.died,
      counts.failures.size());
  return counts.failures.empty() ? 0 : 1;
}
