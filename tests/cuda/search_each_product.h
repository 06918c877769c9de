// A choice of algorithms for EncoderOptions::choose_products that keeps no file.
#pragma once

#include <vector>

#include "engine/product_choices.h"

namespace encode::testing {

inline std::vector<ProductFinding> search_each_product(const ProductRequest& request) {
  std::vector<ProductFinding> findings;
  for (const ProductShape& shape : request.shapes) findings.push_back(request.search(shape));
  return findings;
}

}  // namespace encode::testing
