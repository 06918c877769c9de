// A tool for scripts/reference/check_tokenizers.py and the benchmarks. It reads a JSON string from
// each line, and writes the ids of each string as a JSON array.
//   tokenize_lines TOKENIZER|FOLDER [--max-length N] [--no-special-tokens] [--binary]
//   [--offsets] [--time] [--threads N]
// With --binary, it writes each row as int32 numbers: the number of ids, the number of lost tokens,
// the ids, and with --offsets the begin and the end of each id.
// With --time, it writes only two times: the seconds to load the tokenizer, and the seconds to
// encode all rows on N threads. It encodes up to 200 rows before the measurement, to warm up.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/json.h"
#include "cpu_seconds.h"

namespace {

struct Arguments {
  std::string tokenizer;
  encode::TokenizeOptions options;
  bool binary = false;
  bool time = false;
  bool offsets = false;  // has an effect only with --binary
  size_t threads = 1;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--max-length" && i + 1 < argc) {
      arguments.options.max_length = std::atoll(argv[++i]);
    } else if (flag == "--threads" && i + 1 < argc) {
      arguments.threads = static_cast<size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (flag == "--no-special-tokens") {
      arguments.options.add_special_tokens = false;
    } else if (flag == "--binary") {
      arguments.binary = true;
    } else if (flag == "--offsets") {
      arguments.offsets = true;
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

void print(const encode::TokenizedRows& rows) {
  const auto ids = rows.row(0);
  std::fputs(fmt::format("[{}]\n", fmt::join(ids.begin(), ids.end(), ",")).c_str(), stdout);
}

void print_binary(const encode::TokenizedRows& rows) {
  const int32_t head[] = {static_cast<int32_t>(rows.ids.size()), rows.lost_tokens[0]};
  std::fwrite(head, sizeof head, 1, stdout);
  std::fwrite(rows.ids.data(), sizeof(int32_t), rows.ids.size(), stdout);
}

void print_all(const encode::Tokenizer& tokenizer, const Arguments& arguments) {
  encode::TokenizedRows rows;
  std::vector<encode::TokenOffset> offsets;
  for (const std::string& text : read_lines()) {
    rows.clear();
    offsets.clear();
    if (arguments.offsets) {
      tokenizer.encode_with_offsets(text, arguments.options, rows, offsets);
    } else {
      tokenizer.encode(text, arguments.options, rows);
    }
    if (arguments.binary) {
      print_binary(rows);
      std::fwrite(offsets.data(), sizeof(encode::TokenOffset), offsets.size(), stdout);
    } else {
      print(rows);
    }
  }
}

// Encodes all texts and returns the number of tokens. The threads take the rows in blocks, in
// order.
size_t encode_all(const encode::Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const Arguments& arguments) {
  constexpr size_t kBlock = 64;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> tokens = 0;
  const auto work = [&] {
    encode::TokenizedRows rows;
    size_t found = 0;
    for (size_t begin = next.fetch_add(kBlock); begin < texts.size();
         begin = next.fetch_add(kBlock)) {
      rows.clear();
      for (size_t i = begin; i < std::min(begin + kBlock, texts.size()); ++i)
        tokenizer.encode(texts[i], arguments.options, rows);
      found += rows.ids.size();
    }
    tokens += found;
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < arguments.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return tokens;
}

void time_all(const encode::Tokenizer& tokenizer, const Arguments& arguments, double load) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::string> texts = read_lines();
  const std::vector<std::string> some(texts.begin(),
                                      texts.begin() + std::min<ptrdiff_t>(200, std::ssize(texts)));
  encode_all(tokenizer, some, arguments);
  const double cpu = encode::testing::cpu_seconds();
  const Clock::time_point start = Clock::now();
  const size_t tokens = encode_all(tokenizer, texts, arguments);
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("{\"load\": %.4f, \"cpu\": %.4f, \"wall\": %.4f, \"tokens\": %zu}\n", load,
              encode::testing::cpu_seconds() - cpu, wall, tokens);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const double start = encode::testing::cpu_seconds();
    const auto tokenizer = std::filesystem::is_directory(arguments.tokenizer)
                               ? encode::load_tokenizer_from_directory(arguments.tokenizer)
                               : encode::load_tokenizer(arguments.tokenizer);
    const double load = encode::testing::cpu_seconds() - start;
    if (arguments.time) {
      time_all(*tokenizer, arguments, load);
    } else {
      print_all(*tokenizer, arguments);
    }
    std::fprintf(stderr, "%s\n", tokenizer->description().c_str());
  } catch (const encode::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
  return 0;
}
