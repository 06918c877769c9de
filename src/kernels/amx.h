// Intel Advanced Matrix Extensions (AMX, from Sapphire Rapids). These functions tell whether tiles
// can be used, configure the tiles of a thread, and multiply small matrices on tiles. Any thread
// may call them. They throw nothing.
#pragma once

#include "kernels/kernels.h"

namespace encode::kernels::amx {

// Returns whether the kernels on tiles can run: the processor has AMX for bfloat16 and int8,
// AVX512_BF16 and AVX512_VBMI, and the operating system lets this process use tiles. The first call
// asks the operating system for this permission.
bool available();

// Configures the tiles of the calling thread, and releases them when it is destroyed. A thread
// needs a TileSession while it calls multiply(). A thread has at most one TileSession at a time.
class TileSession {
 public:
  TileSession();
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
  ~TileSession();
};

// Computes C = A x B for small matrices. m is a multiple of 16; n and k are multiples of 32. Two
// consecutive rows of B are interleaved: b[2 x (i x ldb + j)] is the element in row 2 i and column
// j, and the next element is in row 2 i + 1 of the same column.
void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c);

}  // namespace encode::kernels::amx
