// Small products on Advanced Matrix Extensions (Intel Architecture, from Sapphire Rapids), and what
// tiles need.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace encode::kernels::amx {

// The processor has AMX (bfloat16 and int8) and the operating system lets this process use it.
bool available();

// Holds the tile configuration of the calling thread for multiply(), and releases it. One at a time
// a thread.
class TileSession {
 public:
  TileSession();
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
  ~TileSession();
};

// C = A x B for small matrices, with m a multiple of 16, n and k of 32. B has two consecutive rows
// side by side: b[2 x (i x ldb + j)] and the element behind it are rows 2 i and 2 i + 1 of column
// j.
void multiply(const Product& product, const BFloat16* a, const BFloat16* b, float* c);

}  // namespace encode::kernels::amx
