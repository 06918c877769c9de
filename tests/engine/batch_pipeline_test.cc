// Tests the order of launches and waits, within a window and across two windows, on a device that
// only records them.
#include "engine/batch_pipeline.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A batch of one row with one token.
PackedBatch batch_of(int32_t id, int64_t row) {
  return {.input_ids = {id},
          .position_ids = {0},
          .cu_seqlens = {0, 1},
          .sequence_numbers = {row},
          .first_vectors = {row},
          .vectors = {1},
          .max_seqlen = 1};
}

// A window with a batch for each id.
std::vector<PackedBatch> window_of(const std::vector<int32_t>& ids) {
  std::vector<PackedBatch> batches;
  for (const int32_t id : ids) batches.push_back(batch_of(id, std::ssize(batches)));
  return batches;
}

// Gives a row the vector (its token id). Writes down "+id" for a launch, "id" for a wait, and "all"
// for a wait for all work.
class RecordingDevice : public BatchDevice {
 public:
  std::vector<std::string> calls;
  std::function<void(int32_t)> on_check = [](int32_t) {};
  std::function<void(int32_t)> on_launch = [](int32_t) {};
  std::function<void(int32_t)> on_finish = [](int32_t) {};

  void check(const PackedBatch& batch) override { on_check(batch.input_ids[0]); }
  std::unique_ptr<Launched> launch(const PackedBatch& batch) override {
    const int32_t id = batch.input_ids[0];
    on_launch(id);
    calls.push_back("+" + std::to_string(id));
    auto vector = std::make_unique<Vector>();
    vector->value = static_cast<float>(id);
    return vector;
  }
  void finish(Launched& launched, const PackedBatch& batch, std::span<float> out) override {
    const auto& vector = static_cast<const Vector&>(launched);
    on_finish(batch.input_ids[0]);
    calls.push_back(std::to_string(batch.input_ids[0]));
    out[static_cast<size_t>(batch.sequence_numbers[0])] = vector.value;
  }
  void synchronize() override { calls.emplace_back("all"); }

 private:
  struct Vector : Launched {
    float value = 0;
  };
};

class Pipeline : public ::testing::Test {
 protected:
  // Encodes a window. `next` are the ids of the next window. Returns the vectors.
  std::vector<float> encode(const std::vector<int32_t>& ids,
                            const std::vector<int32_t>& next = {}) {
    device_.calls.clear();
    const std::vector<PackedBatch> batches = window_of(ids);
    const std::vector<PackedBatch> next_batches = window_of(next);
    std::vector<float> out(ids.size());
    finished_ = pipeline_.encode(
        batches, out,
        [this](const PackedBatch& batch) { return batch.sequence_numbers[0] != stop_at_row_; },
        [&] {
          ++asked_;
          return std::span(next_batches);
        });
    return out;
  }

  RecordingDevice device_;
  BatchPipeline pipeline_{device_, 2};
  int64_t stop_at_row_ = -1;
  int asked_ = 0;
  bool finished_ = true;
};

TEST_F(Pipeline, OneBatchIsLaunchedBeforeTheHostWaitsForTheLast) {
  EXPECT_THAT(encode({1, 2, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(device_.calls, ElementsAre("+1", "+2", "1", "+3", "2", "3", "all"));
  EXPECT_THAT(encode({4}), ElementsAre(4));
  EXPECT_THAT(device_.calls, ElementsAre("+4", "4", "all"));
}

TEST_F(Pipeline, TheNextWindowBeginsBeforeTheLastBatchIsAwaited) {
  EXPECT_THAT(encode({1, 2}, {3, 4, 5}), ElementsAre(1, 2));
  EXPECT_THAT(device_.calls, ElementsAre("+1", "+2", "+3", "+4", "1", "2"));
  EXPECT_THAT(encode({3, 4, 5}, {6}), ElementsAre(3, 4, 5));
  EXPECT_THAT(device_.calls, ElementsAre("3", "+5", "+6", "4", "5"));
  EXPECT_THAT(encode({6}), ElementsAre(6));
  EXPECT_THAT(device_.calls, ElementsAre("6", "all"));
}

TEST_F(Pipeline, AsksAgainUntilTheNextWindowIsKnown) {
  encode({1, 2, 3});
  EXPECT_EQ(asked_, 2) << "before each of the last two waits";
  asked_ = 0;
  encode({1, 2, 3}, {4});
  EXPECT_EQ(asked_, 1);
}

TEST_F(Pipeline, AnotherWindowThanTheExpectedOneIsLaunchedAnew) {
  for (const std::vector<int32_t>& other : std::vector<std::vector<int32_t>>{{3, 5}, {3}, {9, 4}}) {
    encode({1}, {3, 4, 5});
    const std::vector<float> vectors = encode(other);
    EXPECT_EQ(device_.calls.front(), "all");
    EXPECT_EQ(device_.calls[1], "+" + std::to_string(other[0]));
    EXPECT_THAT(vectors, ::testing::Pointwise(::testing::Eq(), other));
  }
}

TEST_F(Pipeline, ABatchThatCannotBeLaunchedAheadFailsInItsOwnWindow) {
  device_.on_launch = [](int32_t id) {
    if (id == 4) throw std::runtime_error("out of memory");
  };
  EXPECT_THAT(encode({1, 2}, {3, 4}), ElementsAre(1, 2));
  EXPECT_THAT(device_.calls, ElementsAre("+1", "+2", "+3", "1", "2"));
  EXPECT_THROW(encode({3, 4}), std::runtime_error);
  device_.on_launch = [](int32_t) {};
  EXPECT_THAT(encode({3, 4}), ElementsAre(3, 4));
  EXPECT_THAT(device_.calls, ElementsAre("+3", "+4", "3", "4", "all"))
      << "nothing is left of the window that failed";
}

TEST_F(Pipeline, ARowThatTheModelRefusesFailsInItsOwnWindow) {
  device_.on_check = [](int32_t id) {
    if (id == 3) throw std::runtime_error("a token id is too large");
  };
  EXPECT_THAT(encode({1, 2}, {3, 4}), ElementsAre(1, 2));
  EXPECT_THROW(encode({3, 4}), std::runtime_error);
  EXPECT_THAT(device_.calls, IsEmpty())
      << "no batch of a window is launched before all are checked";
}

TEST_F(Pipeline, NothingIsLeftOfAWindowThatFails) {
  device_.on_finish = [](int32_t id) {
    if (id == 2) throw std::runtime_error("the device is lost");
  };
  EXPECT_THROW(encode({1, 2}, {3, 4}), std::runtime_error);
  EXPECT_THAT(encode({3, 4}), ElementsAre(3, 4));
  EXPECT_THAT(device_.calls, ElementsAre("+3", "+4", "3", "4", "all"));
}

TEST_F(Pipeline, AStopWaitsForWhatIsLaunchedAndForgetsIt) {
  stop_at_row_ = 1;
  encode({1, 2, 3}, {4, 5});
  EXPECT_FALSE(finished_);
  EXPECT_EQ(device_.calls.back(), "all");
  stop_at_row_ = -1;
  EXPECT_THAT(encode({4, 5}), ElementsAre(4, 5));
  EXPECT_THAT(device_.calls, ElementsAre("+4", "+5", "4", "5", "all"));
}

}  // namespace
}  // namespace encode
