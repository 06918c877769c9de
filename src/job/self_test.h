// A few fixed texts, encoded each time a model is loaded and compared with the vectors that they
// had when the cache began: a changed driver, library, program or processor shows before its
// vectors are mixed with older ones.
#pragma once

#include <span>
#include <string>

#include "encode/encoder.h"
#include "encode/tokenizer.h"

namespace encode {

struct SelfTest {
  enum class Outcome {
    kFirst,    // nothing to compare with: the vectors are now
    kSame,     // to the bit
    kRounded,  // other bits, the same meaning
  };
  Outcome outcome = Outcome::kFirst;
  double largest_difference = 0;  // of an element
};

// `path`: the file with the vectors, which is made or added to. `identity` names what the vectors
// belong to beside the device (model and result options). `tokenizer` may be null: fixed ids then
// stand for the texts. A file that is damaged counts as absent. Throws Error kData
// "self_test.changed" where a vector's cosine to the earlier one is below 0.999, and as
// Encoder::encode().
SelfTest run_self_test(Encoder& encoder, const Tokenizer* tokenizer, const std::string& identity,
                       const std::string& path);

// The least cosine between the vectors that two encoders of the same model give the fixed texts.
double least_cosine_of_fixed_texts(Encoder& a, Encoder& b, const Tokenizer* tokenizer);

}  // namespace encode
