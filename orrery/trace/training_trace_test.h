#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "orrery/trace/trace.h"

namespace orrery::trace {

/// Builds rows with the habits of a training step, for benchmarks: rising times and ids, names and
/// shapes that repeat from layer to layer, durations that vary around the usual one of their name,
/// and a text of its own for every fourth operator.
class TrainingTrace {
 public:
  Trace Build(std::int64_t num_ops) {
    for (int i = 0; i < 4000; ++i) {
      trace_.strings.Intern("aten::operator_number_" + std::to_string(i));
    }
    for (std::int64_t i = 0; i < 8; ++i) {
      trace_.tracks.Append({.thread = i});
    }
    for (std::int32_t i = 0; i < 500; ++i) {
      trace_.launch_shapes.Append({.grid_x = i * 37, .block_x = 128});
    }
    for (std::int64_t i = 0; i < num_ops; ++i) {
      AddOperator(i);
    }
    return std::move(trace_);
  }

 private:
  void AddOperator(std::int64_t index) {
    // A layer has 900 operators; their arguments are the same in every layer.
    const auto kind = static_cast<std::uint32_t>(index % 900);
    now_ns_ += 2000 + Below(3000);
    const RowId parent = last_top_ == kNoRow || index % 3 == 0 ? kNoRow : last_top_;
    const RowId op =
        trace_.host_ops.Append({.begin_ns = now_ns_,
                                .duration_ns = 5000 + kind * 17 + Below(2000),
                                .name = Name(kind),
                                .track = index % 900 < 600 ? 0U : 1U,
                                .external_id = index + 1,
                                .record_function_id = index + 1,
                                .event_index = index,
                                .sequence = index % 4 == 0 ? index / 4 : -1,
                                .forward_thread = index % 900 < 600 ? 0 : 1,
                                .input_dims = Name(900 + kind),
                                .input_types = Name(1800 + kind % 50),
                                .concrete_inputs = Name(1900 + kind),
                                .extra = index % 4 == 0 ? UniqueText(index) : StringId::kEmpty,
                                .parent = parent});
    last_top_ = parent == kNoRow ? op : last_top_;
    if (index % 4 != 3) {
      AddLaunch(index, kind, op);
    }
  }

  void AddLaunch(std::int64_t index, std::uint32_t kind, RowId op) {
    const RowId call = trace_.runtime_calls.Append({.begin_ns = now_ns_ + 1500,
                                                    .duration_ns = 3000 + Below(1500),
                                                    .name = Name(3000 + kind % 4),
                                                    .track = 0,
                                                    .correlation = 2 * index + 7,
                                                    .external_id = index + 1,
                                                    .callback_id = 211,
                                                    .host_op = op});
    device_ns_ = std::max(device_ns_ + 900 + Below(200), now_ns_ + 6000);
    const std::int64_t duration_ns = 4000 + (kind * kind) % 90'000 + Below(800);
    trace_.activities.Append({.begin_ns = device_ns_,
                              .duration_ns = duration_ns,
                              .name = Name(3100 + kind % 300),
                              .track = 2,
                              .correlation = 2 * index + 7,
                              .external_id = index + 1,
                              .shape = kind % 500,
                              .launch = call,
                              .host_op = op});
    device_ns_ += duration_ns;
  }

  StringId UniqueText(std::int64_t index) {
    return trace_.strings.Intern(
        "\"Stack\": \"module.py(" + std::to_string(index * 7919) +
        ") forward; layers.py(77) __call__\", \"Seed\": " + std::to_string(random_()));
  }

  static StringId Name(std::uint32_t number) { return static_cast<StringId>(1 + number % 4000); }

  std::int64_t Below(std::uint64_t limit) { return static_cast<std::int64_t>(random_() % limit); }

  Trace trace_;
  std::mt19937_64 random_{1};
  std::int64_t now_ns_ = 1'700'000'000'000'000'000;
  std::int64_t device_ns_ = 0;
  RowId last_top_ = kNoRow;
};

}  // namespace orrery::trace
