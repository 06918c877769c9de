// Tests the events while a model is loaded: ModelLoading again and again, and ModelLoaded only
// after all checks.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"
#include "job/loaded_model.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// Loads the model of a unit as the worker does, and keeps the events.
class Loading {
 public:
  Loading(const std::string& model, ComputeType dtype) {
    JobUnit unit;
    unit.model_path = test_data("models/" + model);
    const ModelDirectory directory = open_model_directory(unit.model_path);
    ResultOptions options;
    options.dtype = dtype;
    unit.effective = effective_result(directory, options);
    unit.identity.fingerprint = "{}";
    unit.model_files = hash_model_files(directory, "");
    tensors = directory.tensors.size();
    job_.cache_dir = dir_.path();
    job_.hardware.device = parse_device("cpu");
    job_.units.push_back(unit);

    std::array<int, 2> ends = {};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    const UniqueFd read_end(ends[0]);
    std::jthread reader([&] { events = read_events(read_end.get()); });
    try {
      const UniqueFd write_end(ends[1]);
      EventPipe pipe(write_end.get());
      const std::atomic<bool> stop = false;
      const WorkerContext context{.job = job_, .events = pipe, .stop = stop};
      ModelKeeper(context).model_of(0);
    } catch (const Error& error) {
      refusal = error.detail().code.name();
    }
  }

  template <typename Event>
  size_t count() const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& event) {
      return std::holds_alternative<Event>(event);
    }));
  }

  std::vector<WorkerEvent> events;
  size_t tensors = 0;   // of the checkpoint
  std::string refusal;  // the code of the error, or ""

 private:
  static std::vector<WorkerEvent> read_events(int fd) {
    std::string text;
    std::array<char, 4096> buffer = {};
    for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<size_t>(n));
    std::vector<WorkerEvent> events;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      events.push_back(worker_event_from_json(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return events;
  }

  TempDir dir_;
  JobSpec job_;
};

class LoadingAs : public ::testing::TestWithParam<std::pair<const char*, ComputeType>> {};

TEST_P(LoadingAs, ASignOfLifeForEachTensorAndModelLoadedLast) {
  const auto& [model, dtype] = GetParam();
  const Loading loading(model, dtype);
  ASSERT_EQ(loading.refusal, "");
  EXPECT_TRUE(std::holds_alternative<ModelLoading>(loading.events.front()));
  EXPECT_TRUE(std::holds_alternative<ModelLoaded>(loading.events.back()));
  EXPECT_EQ(loading.count<ModelLoaded>(), 1U);
  EXPECT_GT(loading.count<ModelLoading>(), loading.tensors);
}

INSTANTIATE_TEST_SUITE_P(Types, LoadingAs,
                         ::testing::Values(std::pair{"bert", ComputeType::kFloat32},
                                           std::pair{"qwen2", ComputeType::kBFloat16},
                                           std::pair{"nomic_bert_moe", ComputeType::kFloat32}),
                         [](const auto& tested) {
                           return std::string(tested.param.first) +
                                  std::string(to_string(tested.param.second));
                         });

// A quantized model is compared with an exact one, which is loaded as well.
TEST(Loading, TheSecondModelOfACheckGivesSignsOfLifeToo) {
  const Loading loading("bert", ComputeType::kInt8);
  if (loading.refusal == "device.int8") GTEST_SKIP() << "this processor has no int8 products";
  ASSERT_EQ(loading.refusal, "");
  EXPECT_TRUE(std::holds_alternative<ModelLoaded>(loading.events.back()));
  EXPECT_GT(loading.count<ModelLoading>(), 2 * loading.tensors);
}

}  // namespace
}  // namespace encode::testing
