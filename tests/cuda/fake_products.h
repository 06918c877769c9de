// Stands in for the plugin's matrix products by cuBLASLt. Every "algorithm" is a loop on the CPU,
// and some of them are bad in a way that a search must notice.
//
// The environment changes what a process finds:
//   FAKE_PRODUCTS_FAST      the number of an algorithm that takes a tenth of its usual time
//   FAKE_PRODUCTS_REFUSED   the number of an algorithm that `check` and `multiply` refuse
//   FAKE_PRODUCTS_VERSION   the version of cuBLASLt (130100)
#pragma once

#include "nn/cuda/plugin.h"

namespace encode::testing {

// The algorithms, in the order in which `suggest` returns them. words[0] is the number.
enum FakeAlgorithm : uint64_t {
  kFakeFirst = 0,        // right, 3 ms
  kFakeUnequalRows = 1,  // splits the sums of the second half of the rows; 1 ms
  kFakeBest = 2,         // right, 2 ms; splits every sum, so its bits are others than kFakeFirst's
  kFakeWrong = 3,        // adds 1 to the first number of each row; 0.5 ms
  kFakeFailing = 4,      // never runs; 0.1 ms
  kFakeAsGood = 5,       // as kFakeFirst, 1.99 ms: too little gain to take the place of kFakeBest
  kFakeAlgorithms = 6
};

const EncodeCudaProducts* fake_products();

}  // namespace encode::testing
