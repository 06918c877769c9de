// Test tool: reads one JSON string a line, writes the ids of each as a JSON array.
//   tokenize_lines TOKENIZER [--max-length N] [--no-special-tokens] [--lost] [--time]
// With --lost each line is [[ids], lost tokens]; with --time nothing is written but the seconds
// spent in encode().
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "cpu_seconds.h"

namespace {

struct Arguments {
  std::string tokenizer;
  encode::TokenizeOptions options;
  bool lost = false;
  bool time = false;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--max-length" && i + 1 < argc) {
      arguments.options.max_length = std::atoll(argv[++i]);
    } else if (flag == "--no-special-tokens") {
      arguments.options.add_special_tokens = false;
    } else if (flag == "--lost") {
      arguments.lost = true;
    } else if (flag == "--time") {
      arguments.time = true;
    } else {
      arguments.tokenizer = flag;
    }
  }
  return arguments;
}

std::vector<std::string> read_lines() {
  std::vector<std::string> texts;
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    texts.push_back(encode::Json::parse(line).get<std::string>());
  }
  return texts;
}

void print(const encode::TokenizedRows& rows, bool lost) {
  std::string line = lost ? "[[" : "[";
  for (const int32_t id : rows.row(0)) line += std::to_string(id) + ",";
  if (line.back() == ',') line.pop_back();
  line += lost ? "]," + std::to_string(rows.lost_tokens[0]) + "]\n" : "]\n";
  std::fputs(line.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const double load_start = encode::testing::cpu_seconds();
    const auto tokenizer = encode::load_tokenizer(arguments.tokenizer);
    const double load = encode::testing::cpu_seconds() - load_start;
    const std::vector<std::string> texts = read_lines();
    encode::TokenizedRows rows;
    const double start = encode::testing::cpu_seconds();
    size_t tokens = 0;
    for (const std::string& text : texts) {
      rows.clear();
      tokenizer->encode(text, arguments.options, rows);
      tokens += rows.ids.size();
      if (!arguments.time) print(rows, arguments.lost);
    }
    const double seconds = encode::testing::cpu_seconds() - start;
    if (arguments.time) {
      std::printf("{\"load\": %.4f, \"encode\": %.4f, \"tokens\": %zu}\n", load, seconds, tokens);
    }
    std::fprintf(stderr, "%s\n", tokenizer->description().c_str());
  } catch (const encode::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
  return 0;
}
