#include "faulty_encoder.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

#include <c10/util/Exception.h>

#include "encode/batch_plan.h"
#include "encode/error.h"

namespace encode::testing {
namespace {

c10::SourceLocation here() { return {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}; }

class FaultyEncoder : public Encoder {
 public:
  FaultyEncoder(std::unique_ptr<Encoder> encoder, std::vector<Fault> faults, std::string counters)
      : encoder_(std::move(encoder)),
        faults_(std::move(faults)),
        counters_(std::move(counters)),
        device_(encoder_->device()) {
    for (const Fault& fault : faults_) {
      if (fault.when != "load" || !count(fault)) continue;
      if (fault.what == "unlike") {
        device_.name = "a device of another kind";
      } else {
        fail(fault.what);
      }
    }
  }

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const OnBatch& done) override {
    throw_if_lost();
    for (const PackedBatch& batch : batches) {
      ++number_;
      const Fault* fault = due(batch);
      if (fault != nullptr && !changes_values(fault->what)) fail(fault->what);
      const auto spoiled = [&](const PackedBatch& encoded) {
        if (fault != nullptr) spoil(*fault, encoded, out);
        return done(encoded);
      };
      if (!encoder_->encode({&batch, 1}, out, spoiled)) return false;
    }
    throw_if_lost();
    return true;
  }

  bool encode_ahead(std::span<const PackedBatch> batches, std::span<float> out, const OnBatch& done,
                    const NextBatches& next) override {
    const bool looks = std::any_of(faults_.begin(), faults_.end(), is_ahead);
    if (!looks || !next || batches.empty()) return encode(batches, out, done);
    if (!encode(batches.first(batches.size() - 1), out, done)) return false;
    const std::span<const PackedBatch> ahead = await(next);
    const auto most = static_cast<size_t>(batches_ahead(token_embeddings()));
    for (const PackedBatch& batch : ahead.first(std::min(ahead.size(), most))) {
      for (const Fault& fault : faults_) {
        if (is_ahead(fault) && has_token(batch, number_in(fault.when)) && count(fault))
          fail(fault.what);
      }
    }
    return encode(batches.last(1), out, done);
  }

  int64_t dim() const override { return encoder_->dim(); }
  bool token_embeddings() const override { return encoder_->token_embeddings(); }
  int64_t vocab_size() const override { return encoder_->vocab_size(); }
  int64_t max_length() const override { return encoder_->max_length(); }
  int64_t token_slots(int64_t tokens) const override { return encoder_->token_slots(tokens); }
  const DeviceFacts& device() const override { return device_; }
  void release_cached_memory() noexcept override { encoder_->release_cached_memory(); }
  DeviceMemory memory() const override { return encoder_->memory(); }

 private:
  static bool changes_values(const std::string& what) {
    return what == "nan" || what == "inf" || what == "zero" || what == "norm";
  }

  static bool is_ahead(const Fault& fault) { return fault.when.starts_with("ahead:"); }

  static bool has_token(const PackedBatch& batch, int64_t token) {
    return std::find(batch.input_ids.begin(), batch.input_ids.end(), token) !=
           batch.input_ids.end();
  }

  // Waits for the next window for as long as the rows of a test take to be read.
  static std::span<const PackedBatch> await(const NextBatches& next) {
    constexpr int kLooks = 200;
    std::span<const PackedBatch> batches = next();
    for (int look = 0; look < kLooks && batches.empty(); ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      batches = next();
    }
    return batches;
  }

  // The number in "token:7".
  static int64_t number_in(const std::string& when) {
    return std::stoll(when.substr(when.find(':') + 1));
  }

  bool applies(const Fault& fault, const PackedBatch& batch) const {
    if (fault.when == "load" || is_ahead(fault)) return false;
    const int64_t number = number_in(fault.when);
    if (fault.when.starts_with("batch:")) return number_ == number;
    if (fault.when.starts_with("above:")) return batch.tokens() > number;
    if (fault.when.starts_with("every:")) return count_batch(fault) % number == 0;
    return has_token(batch, number);
  }

  // Returns the number of batches that all processes of the worker have begun. It is the size of a
  // file, because appends of several processes do not get lost.
  int64_t count_batch(const Fault& fault) const {
    const std::string path = fmt::format("{}/batches~{}", counters_, fault.worker);
    std::ofstream file(path, std::ios::app | std::ios::binary);
    file.put('.').flush();
    return static_cast<int64_t>(file.tellp());
  }

  // Returns the fault that must happen in this batch, and counts it.
  const Fault* due(const PackedBatch& batch) const {
    for (const Fault& fault : faults_) {
      if (applies(fault, batch) && count(fault)) return &fault;
    }
    return nullptr;
  }

  // Returns false if the fault has happened often enough.
  bool count(const Fault& fault) const {
    const std::string counter = fmt::format("{}/{}@{}", counters_, fault.what, fault.when);
    int64_t happened = 0;
    std::ifstream(counter) >> happened;
    if (happened >= fault.times) return false;
    std::ofstream(counter) << happened + 1;
    return true;
  }

  void throw_if_lost() const {
    if (lost_ != 0) throw c10::AcceleratorError(here(), lost_, "CUDA error: the device was lost");
  }

  void fail(const std::string& what) {
    if (what == "oom") throw c10::OutOfMemoryError(here(), "CUDA out of memory. Tried to allocate");
    if (what == "nvml") throw c10::Error(here(), "NVML_SUCCESS == r INTERNAL ASSERT FAILED");
    if (what == "refused") throw c10::Error(here(), "The size of tensor a must match tensor b");
    if (what == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (what == "bad_alloc") throw std::bad_alloc();
    if (what == "absent") {
      throw Error({.code = "device.absent",
                   .exit_code = ExitCode::kUnavailable,
                   .what = "the device asked for is not there",
                   .where = "hardware.devices",
                   .expected = "a device",
                   .found = "none",
                   .hint = ""});
    }
    if (what == "cublas") {
      lost_ = 700;
      throw c10::Error(here(), "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublas");
    }
    if (what == "late") lost_ = 719;
    if (what == "cuda") lost_ = 700;
    if (what == "assert") lost_ = 710;
    if (what == "cuda" || what == "assert") throw_if_lost();
    if (what == "abort") std::abort();
    if (what == "segv") std::raise(SIGSEGV);
    if (what == "kill") std::raise(SIGKILL);
    if (what == "exit75") ::_exit(75);
    if (what == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  }

  // Changes the vectors of the rows that the fault is about.
  void spoil(const Fault& fault, const PackedBatch& batch, std::span<float> out) const {
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto begin = batch.input_ids.begin() + batch.cu_seqlens[b];
      const auto end = batch.input_ids.begin() + batch.cu_seqlens[b + 1];
      const bool meant = fault.when.starts_with("token:")
                             ? std::find(begin, end, number_in(fault.when)) != end
                             : b == 0;
      if (!meant) continue;
      const std::span<float> values = out.subspan(
          static_cast<size_t>(batch.first_vectors[b] * dim()), static_cast<size_t>(dim()));
      if (fault.what == "nan") values.back() = std::numeric_limits<float>::quiet_NaN();
      if (fault.what == "inf") values.front() = -HUGE_VALF;
      for (float& value : values) {
        if (fault.what == "zero") value = 0;
        if (fault.what == "norm") value *= 1.01F;
      }
    }
  }

  std::unique_ptr<Encoder> encoder_;
  const std::vector<Fault> faults_;
  const std::string counters_;
  DeviceFacts device_;
  int64_t number_ = 0;  // of the batch, counted from 1
  int lost_ = 0;        // a CUDA error that every later call reports
};

}  // namespace

std::vector<Fault> parse_faults(const std::string& text) {
  std::vector<Fault> faults;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string fault = text.substr(begin, end - begin);
    const size_t at = fault.find('@');
    const size_t star = fault.find('*');
    if (at == std::string::npos || star == std::string::npos)
      throw std::invalid_argument("a fault is <what>@<when>*<times>: " + fault);
    const size_t tilde = fault.find('~');
    faults.push_back(
        {.what = fault.substr(0, at),
         .when = fault.substr(at + 1, star - at - 1),
         .times = std::stoll(fault.substr(star + 1)),
         .worker = tilde == std::string::npos ? -1 : std::stoll(fault.substr(tilde + 1))});
    begin = end + 1;
  }
  return faults;
}

std::unique_ptr<Encoder> with_faults(std::unique_ptr<Encoder> encoder, std::vector<Fault> faults,
                                     std::string counters) {
  return std::make_unique<FaultyEncoder>(std::move(encoder), std::move(faults),
                                         std::move(counters));
}

}  // namespace encode::testing
