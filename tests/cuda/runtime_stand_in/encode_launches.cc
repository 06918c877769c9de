// Encodes a few batches with each of several models and types on the stand-in for the CUDA runtime,
// and marks in its record where each part begins.
//
// usage: encode_launches TYPES MODEL...
//   TYPES   "float32,bfloat16", ..
//   MODEL   a model directory
//
// The marks are:
//   model PATH TYPE    loading begins
//   warm               a first pass begins, which fills the allocator's cache
//   steady N           N batches follow; the allocator's cache is full
//   end
//   refused CODE: ..   the model cannot run as this type on this device
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "encode/encoder.h"
#include "encode/error.h"
#include "encode/model_directory.h"

#include "batching/pack.h"
#include "engine/load_encoder.h"

namespace encode {
namespace {

constexpr int64_t kBatches = 8;
constexpr int64_t kRowsOfABatch = 16;
constexpr int64_t kRowTokens = 12;
constexpr int64_t kLaunchTokens = 256;  // a batch fills most of it

// Writes a line into the record. The program is built with the real libraries' names, so it looks
// for the stand-in at run time.
void mark(const std::string& text) {
  const auto record =
      reinterpret_cast<void (*)(const char*)>(::dlsym(RTLD_DEFAULT, "runtime_stand_in_record"));
  if (record == nullptr) {
    std::fputs("the stand-in for the CUDA runtime was not opened\n", stderr);
    std::exit(1);
  }
  record(("mark " + text).c_str());
}

// Returns batches of equally long rows, so that each batch asks the device for the same work.
std::vector<PackedBatch> batches(const Encoder& encoder) {
  TokenizedRows rows;
  for (int64_t row = 0; row < kBatches * kRowsOfABatch; ++row) {
    for (int64_t t = 0; t < kRowTokens; ++t)
      rows.ids.push_back(static_cast<int32_t>((row * kRowTokens + t) % encoder.vocab_size()));
    rows.end_row();
  }
  return pack({.ids = rows}, kRowsOfABatch * kRowTokens);
}

void encode_batches(const std::string& path, ComputeType type) {
  const ModelDirectory directory = open_model_directory(path);
  ResultOptions options;
  options.dtype = type;
  EffectiveResult effective = effective_result(directory, options);
  effective.launch_tokens = kLaunchTokens;
  EncoderOptions on_cuda;
  on_cuda.hardware.device = parse_device("cuda");
  const std::unique_ptr<Encoder> encoder = load_encoder(directory, effective, on_cuda).encoder;
  const std::vector<PackedBatch> all = batches(*encoder);
  std::vector<float> out(static_cast<size_t>(kBatches * kRowsOfABatch * encoder->dim()));
  for (const std::string& pass : {std::string("warm"), fmt::format("steady {}", all.size())}) {
    mark(pass);
    encoder->encode(all, out, [](const PackedBatch&) { return true; });
  }
  mark("end");
}

void run(const std::string& path, const std::string& type) {
  mark(fmt::format("model {} {}", path, type));
  try {
    encode_batches(path, parse_compute_type(type, "TYPES"));
  } catch (const Error& error) {
    mark(fmt::format("refused {}: {}", error.detail().code.name(), error.detail().what));
  } catch (const std::exception& error) {
    mark(fmt::format("failed {}", std::string(error.what()).substr(0, 300)));
  }
}

}  // namespace
}  // namespace encode

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    std::stringstream types(argv[1]);
    for (std::string type; std::getline(types, type, ',');) encode::run(argv[i], type);
  }
}
