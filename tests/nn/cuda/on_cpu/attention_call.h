// One call of an attention kernel of the plugin on packed sequences, with random input.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "emulator.h"
#include "guarded_buffer.h"
#include "schedules.h"

namespace encode::testing {

struct AttentionCase {
  const char* name;
  int64_t heads;
  int64_t key_heads;
  int64_t head_dim;
  int64_t left = -1;
  int64_t right = -1;
  float softcap = 0;
  bool bias = false;
  bool of_query = false;
  bool of_key = false;

  int64_t width() const { return heads * head_dim; }                  // of a row of the result
  int64_t row() const { return (heads + 2 * key_heads) * head_dim; }  // of the input
};

using AttentionParameters = std::tuple<AttentionCase, EncodeCudaType, emulator::Schedule>;

// Holds the input without terms, and the buffer for the result.
class AttentionCall {
 public:
  // `ends` is EncodeCudaAttention::cu_seqlens, which the call refers to.
  AttentionCall(const AttentionCase& shape, EncodeCudaType type, std::span<const int32_t> ends,
                std::mt19937_64& random)
      : shape_(shape),
        type_(type),
        ends_(ends),
        qkv_(GuardedBuffer::random(ends.back() * shape.row(), type, random)),
        y_(static_cast<size_t>(ends.back() * shape.width()), bytes_of(type)) {}

  EncodeCudaAttention arguments() const {
    char* const begin = qkv_.as<char>();
    const auto bytes = [&](int64_t heads) {
      return static_cast<size_t>(heads * shape_.head_dim) * bytes_of(type_);
    };
    EncodeCudaAttention arguments = {};
    arguments.query = begin;
    arguments.key = begin + bytes(shape_.heads);
    arguments.value = begin + bytes(shape_.heads + shape_.key_heads);
    arguments.query_stride = shape_.row();
    arguments.key_stride = shape_.row();
    arguments.value_stride = shape_.row();
    arguments.y = y_.data();
    arguments.cu_seqlens = ends_.data();
    arguments.sequences = std::ssize(ends_) - 1;
    arguments.heads = shape_.heads;
    arguments.key_heads = shape_.key_heads;
    arguments.head_dim = shape_.head_dim;
    arguments.left = shape_.left;
    arguments.right = shape_.right;
    arguments.scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim));
    arguments.softcap = shape_.softcap;
    arguments.type = type_;
    return arguments;
  }

  const AttentionCase& shape() const { return shape_; }
  const GuardedBuffer& qkv() const { return qkv_; }
  const GuardedBuffer& y() const { return y_; }

 private:
  AttentionCase shape_;
  EncodeCudaType type_;
  std::span<const int32_t> ends_;
  GuardedBuffer qkv_;
  GuardedBuffer y_;
};

inline std::string attention_test_name(const ::testing::TestParamInfo<AttentionParameters>& info) {
  static constexpr const char* kTypes[] = {"float32", "float16", "bfloat16"};
  const auto& [shape, type, schedule] = info.param;
  return std::string(shape.name) + "_" + kTypes[type] + "_" + emulator::name_of(schedule.order);
}

}  // namespace encode::testing
