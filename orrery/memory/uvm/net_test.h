#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory::uvm {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Makes recordings of networks that do not exist, with an allocator that puts tensors into
/// segments, the first that has room, and keeps segments for ever. Kernels touch their tensors in
/// full, at a terabyte a second.
class TestNet {
 public:
  trace::Trace trace;

  /// Tensors of more than `segment_bytes` have a segment of their own size.
  explicit TestNet(std::int64_t segment_bytes) : segment_bytes_(segment_bytes) {}

  /// A tensor that was there before the recording.
  RowId Weight(std::int64_t bytes) { return NewTensor(bytes, -1); }

  /// Operators begin before they allocate.
  void Begin(std::string_view name) {
    op_ = trace.host_ops.Append({.begin_ns = ++order_, .name = trace.strings.Intern(name)});
  }

  RowId Tensor(std::int64_t bytes) { return NewTensor(bytes, ++order_); }

  void Free(RowId tensor) {
    const RowId segment = trace.memory_objects.parent[tensor];
    trace.memory_objects.death_order[tensor] = ++order_;
    used_of_segment_[segment].erase(trace.memory_objects.address[tensor]);
  }

  void Kernel(std::initializer_list<RowId> tensors) {
    std::int64_t bytes = 0;
    const auto activity = static_cast<RowId>(trace.activities.size());
    for (const RowId tensor : tensors) {
      bytes += trace.memory_objects.bytes[tensor];
      trace.touches.Append({.activity = activity,
                            .object = tensor,
                            .read_bytes = trace.memory_objects.bytes[tensor],
                            .write_bytes = 0});
    }
    trace.activities.Append({.begin_ns = ++order_,
                             .duration_ns = bytes / 1000 + 1000,
                             .name = trace.strings.Intern("kernel"),
                             .host_op = op_});
    trace.observations.Append({.activity = activity, .order = order_});
  }

 private:
  RowId NewTensor(std::int64_t bytes, std::int64_t birth) {
    for (auto& [segment, used] : used_of_segment_) {
      std::uint64_t at = trace.memory_objects.address[segment];
      const std::uint64_t end =
          at + static_cast<std::uint64_t>(trace.memory_objects.bytes[segment]);
      for (const auto& [address, size] : used) {
        if (address - at >= static_cast<std::uint64_t>(bytes)) {
          break;
        }
        at = address + static_cast<std::uint64_t>(size);
      }
      const auto next = used.lower_bound(at);
      if ((next == used.end() ? end : next->first) - at >= static_cast<std::uint64_t>(bytes)) {
        return Place(segment, at, bytes, birth);
      }
    }
    const RowId segment = NewSegment(std::max(bytes, segment_bytes_), birth);
    return Place(segment, trace.memory_objects.address[segment], bytes, birth);
  }

  RowId Place(RowId segment, std::uint64_t address, std::int64_t bytes, std::int64_t birth) {
    used_of_segment_[segment][address] = bytes;
    return trace.memory_objects.Append({.begin_ns = order_,
                                        .address = address,
                                        .bytes = bytes,
                                        .memory_class = trace::MemoryClass::kTensor,
                                        .birth_order = birth,
                                        .host_op = birth < 0 ? kNoRow : op_,
                                        .parent = segment});
  }

  RowId NewSegment(std::int64_t bytes, std::int64_t birth) {
    const RowId segment = trace.memory_objects.Append({.begin_ns = order_,
                                                       .address = next_address_,
                                                       .bytes = bytes,
                                                       .memory_class = trace::MemoryClass::kSegment,
                                                       .birth_order = birth});
    next_address_ += static_cast<std::uint64_t>((bytes / (2 * kMiB) + 1) * 2 * kMiB);
    used_of_segment_[segment];
    return segment;
  }

  std::int64_t segment_bytes_;
  std::int64_t order_ = 0;
  std::uint64_t next_address_ = std::uint64_t{1} << 40;
  RowId op_ = kNoRow;
  std::map<RowId, std::map<std::uint64_t, std::int64_t>> used_of_segment_;
};

struct LayerSizes {
  std::int64_t segment_bytes = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t scratch_bytes = 0;
  int num_layers = 0;
};

/// One training step of a chain of layers: forward with scratch memory, backward, update.
inline trace::Trace TrainingStep(const LayerSizes& sizes) {
  TestNet net(sizes.segment_bytes);
  std::vector<RowId> weights;
  std::vector<RowId> gradients;
  std::vector<RowId> outputs = {net.Weight(sizes.output_bytes)};
  for (int layer = 0; layer < sizes.num_layers; ++layer) {
    weights.push_back(net.Weight(sizes.weight_bytes));
  }
  for (int layer = 0; layer < sizes.num_layers; ++layer) {
    net.Begin("forward");
    const RowId scratch = net.Tensor(sizes.scratch_bytes);
    outputs.push_back(net.Tensor(sizes.output_bytes));
    net.Kernel({outputs[outputs.size() - 2], scratch});
    net.Kernel({scratch, weights[static_cast<std::size_t>(layer)], outputs.back()});
    net.Free(scratch);
  }
  RowId incoming = net.Tensor(sizes.output_bytes);
  for (int layer = sizes.num_layers; layer-- > 0;) {
    net.Begin("backward");
    const RowId outgoing = net.Tensor(sizes.output_bytes);
    gradients.push_back(net.Tensor(sizes.weight_bytes));
    net.Kernel({incoming, weights[static_cast<std::size_t>(layer)], outgoing});
    net.Kernel({incoming, outputs[static_cast<std::size_t>(layer)], gradients.back()});
    net.Free(incoming);
    net.Free(outputs.back());
    outputs.pop_back();
    incoming = outgoing;
  }
  for (int layer = 0; layer < sizes.num_layers; ++layer) {
    net.Begin("update");
    net.Kernel({weights[static_cast<std::size_t>(layer)],
                gradients[static_cast<std::size_t>(sizes.num_layers - 1 - layer)]});
  }
  return std::move(net.trace);
}

/// Convolutional: tensors of some MiB share segments of 80 MiB, of which an operator uses a part;
/// a third of the memory is about as many segments as one operator touches.
inline LayerSizes PooledNet() {
  return {.segment_bytes = 80 * kMiB,
          .weight_bytes = 6 * kMiB,
          .output_bytes = 20 * kMiB,
          .scratch_bytes = 12 * kMiB,
          .num_layers = 20};
}

/// A transformer with large tensors: each fills a segment of its own.
inline LayerSizes FullNet() {
  return {.segment_bytes = 2 * kMiB,
          .weight_bytes = 112 * kMiB,
          .output_bytes = 96 * kMiB,
          .scratch_bytes = 192 * kMiB,
          .num_layers = 12};
}

}  // namespace orrery::memory::uvm
