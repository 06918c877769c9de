// The file <cache_dir>/products.json: which of cuBLASLt's algorithms compute the matrix products of
// this cache. The algorithm decides the last bits of a vector, so all workers of a run and all
// later runs must use the same ones. The first worker that needs a product searches for its
// algorithm and writes it down, before it encodes a row.
//
// The file is sealed JSON (store/sealed_json.h):
//   {"checksum": "..", "format": 1, "devices": [
//     {"device": "NVIDIA H200", "driver": "580.65.06", "libtorch": "2.11.0", "cublaslt": 130100,
//      "products": {"4096 x 384 x 1536 bfloat16, bias": {"algorithm": "<128 hex digits>", ..}}}]}
// A product whose "algorithm" is null is computed by LibTorch, because no algorithm was good. The
// entries of other devices and versions are kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/product_choices.h"

namespace encode {

class ProductBook {
 public:
  struct Signals {
    std::function<void()> alive;                     // called after each search, and while waiting
    std::function<void(const std::string&)> warn;    // takes a message for the log
    std::function<void(const std::string&)> inform;  // the same, for details
  };

  // Uses the files products.json and products_lock in `cache_dir`.
  ProductBook(const std::string& cache_dir, Signals signals);

  // Returns what the file says for each product of the request. Searches for the others, and for
  // those whose algorithm the device does not take, and writes the file before it returns. Holds a
  // lock meanwhile, so that two workers do not search at the same time. A file that is damaged or
  // of another format counts as missing, after a warning. Throws the errors of
  // ProductRequest::search, and Error kIoError, kNoPermission and kCantCreate for the files.
  std::vector<ProductFinding> choose(const ProductRequest& request) const;

 private:
  std::string path_;
  std::string lock_path_;
  Signals signals_;
};

}  // namespace encode
