// Checks, when a model is loaded on a GPU, that each of its matrix products gives equal rows equal
// bits. The promise of docs/same-bits.md depends on this, and no option of cuBLAS guarantees it.
#pragma once

#include <optional>
#include <string>

#include "engine/transformer.h"
#include "nn/layers/launches.h"
#include "nn/layers/product_trace.h"

namespace encode {

// Runs one short batch and then each of its matrix products alone, on equal rows. Returns the first
// product with two rows that differ in a bit, or nullopt. `transformer` is on a GPU. Waits for the
// device and gives the memory of the check back to it. Throws c10::Error if the device fails.
std::optional<TracedProduct> find_unequal_rows(const Transformer& transformer);

// Returns the launches that are to be tried after `launches`, in which `product` has unequal rows:
// half as many rows for products of this size. Throws Error kUnavailable "device.products" if that
// would be too few rows.
Launches smaller_launches(const Launches& launches, const TracedProduct& product,
                          at::Device device);

// Returns a text such as "at most 2048 rows, blocks of 256".
std::string describe(const Launches& launches);

}  // namespace encode
