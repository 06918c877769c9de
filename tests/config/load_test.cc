#include "config/load.h"

#include <gtest/gtest.h>

#include "config/reference.h"
TEST(A, B) {
  std::puts(encode::print_config(encode::load_config("", {{"semantic.model", "m", "--model"},
                                                          {"input.file", "a.jsonl", "--input"},
                                                          {"input.field", "t", "--field"}}))
                .c_str());
  std::puts(encode::print_config(encode::load_config("configs/experiment.yaml", {})).c_str());
  std::puts(encode::config_reference().c_str());
}
