// Encodes a few fixed texts each time a model is loaded, and compares their vectors with the
// vectors of the first load, which are in a file of the cache directory. This detects a changed
// driver, library, program or processor before new vectors are mixed with older ones.
#pragma once

#include <string>

#include "encode/encoder.h"
#include "encode/tokenizer.h"

namespace encode {

struct SelfTest {
  enum class Outcome {
    kFirst,    // there were no earlier vectors; the new ones are now in the file
    kSame,     // the vectors are bit-identical to the earlier ones
    kRounded,  // the vectors differ, but only by rounding
  };
  Outcome outcome = Outcome::kFirst;
  double largest_difference = 0;    // the largest absolute difference of two elements
  std::string vectors_sha256 = {};  // the hash of the new vectors
};

// Encodes the fixed texts and compares the vectors with those in the file `path`. The file is
// created if it does not exist or is damaged. It has vectors for each pair of a device and an
// `identity`, which stands for the model and the result options. If `tokenizer` is null, fixed
// token ids replace the texts. Throws Error kData "self_test.changed" if the cosine of a vector to
// the earlier one is below 0.999, and the errors of Encoder::encode() and write_file_durably().
SelfTest run_self_test(Encoder& encoder, const Tokenizer* tokenizer, const std::string& identity,
                       const std::string& path);

// Encodes the fixed texts with two encoders of the same model. Returns the smallest cosine between
// the two vectors of a text. It is -1 if a vector is not finite, or if only one of the two is zero.
double least_cosine_of_fixed_texts(Encoder& a, Encoder& b, const Tokenizer* tokenizer);

}  // namespace encode
