// Intel Advanced Matrix Extensions (AMX, from Sapphire Rapids): whether they can be used, the tile
// configuration of a thread, and small products on tiles.
#pragma once

#include "kernels/kernels.h"

namespace encode::kernels::amx {

// Returns whether the kernels on tiles can run: the processor has AMX for bfloat16 and int8,
// AVX512_BF16 and AVX512_VBMI, and the operating system lets this process use tiles. The first call
// asks the operating system for this permission.
bool available();

// Configures the tiles of the calling thread, and releases them when it is destroyed. A thread
// needs a TileSession while it calls multiply(). A thread has at most one at a time.
class TileSession {
 public:
  TileSession();
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
  ~TileSession();
};

// C = A x B for small matrices. m is a multiple of 16; n and k are multiples of 32. Two consecutive
// rows of B are interleaved: b[2 x (i x ldb + j)] is the element of row 2 i and column j, and the
// next element is that column's element of row 2 i + 1.
void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c);

}  // namespace encode::kernels::amx
