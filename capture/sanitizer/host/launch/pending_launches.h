#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// The offsets of the parts of a launch's block from its begin. The first part is written by the
/// host, the second begins as zeros and is the device's.
struct BlockLayout {
  std::uint64_t ranges = 0;
  std::uint64_t first_page_bit = 0;
  std::uint64_t upload_bytes = 0;  // record, ranges and first_page_bit
  std::uint64_t counters = 0;
  std::uint64_t page_bits = 0;
  std::uint64_t bytes = 0;
};

/// A launch without a block of its own: its counts are in the block of another.
struct MergedLaunch {
  std::uint64_t number = 0;
  std::vector<Argument> arguments;
};

/// A launch that is instrumented, from its begin until its results are read.
struct PendingLaunch {
  std::uint64_t number = 0;  // of its event
  std::uint64_t device = 0;
  StreamHandle stream;
  LaunchHandle handle;
  bool is_of_nodes = false;                // it, and those that count with it, are nodes of graphs
  std::vector<std::uint64_t> open_graphs;  // theirs that are not yet in the stream
  std::uint64_t function = 0;              // its kernel's number; other nodes may have others
  Choice choice;
  std::uint32_t modes = 0;
  std::uint32_t num_shards = 0;
  bool wants_pages = false;
  std::uint64_t function_pc = 0;  // address of its kernel's code
  std::shared_ptr<const ObjectSnapshot> objects;
  std::vector<Argument> arguments;
  bool has_arguments = false;        // its parameters could be read
  bool may_use_tensor_maps = true;   // as far as is known of its kernel
  std::vector<MergedLaunch> merged;  // that count with it
  // How many of those saw other objects than it did.
  std::uint64_t num_with_other_objects = 0;
  // Nodes may run in other streams: some of its counts may be theirs, or the other way round.
  bool is_mixed = false;
  BlockLayout layout;
  std::uint64_t offset = 0;   // of its block in the arena
  bool is_lost = false;       // its end was never told, or its results cannot be read
  bool is_cancelled = false;  // it ran without its block
};

/// The layout for a launch's modes, shards and objects.
[[nodiscard]] BlockLayout LayoutFor(const PendingLaunch& launch);

/// Fills the first part of the block in `staging`, which will lie at `address` on the device.
void FillBlock(const PendingLaunch& launch, std::uint64_t address, AccessRing* ring,
               std::byte* staging);

/// A block as the device left it.
struct BlockResults {
  std::span<const SlotCounters> counters;    // [num_shards][num_ranges + 1]
  std::span<const std::uint32_t> page_bits;  // empty: none were asked for
  std::span<const std::uint64_t> unknown_samples;
};

[[nodiscard]] BlockResults ResultsIn(const PendingLaunch& launch, const std::byte* block);

/// The launches with blocks in one context from their begin until they are read, and those that
/// count with them. Not safe from several threads.
class PendingLaunches {
 public:
  void Begin(PendingLaunch launch);

  /// Lets the launch count with the latest one of the same function that is in the same stream, if
  /// both see the same memory and the same blocks. Returns that one, or null. Not for nodes of
  /// graphs.
  [[nodiscard]] PendingLaunch* Merge(const PendingLaunch& launch);

  /// Lets a node count with the nodes that are in the same stream, whatever their graphs, their
  /// functions and the memory they see. Returns the first of them, or null.
  [[nodiscard]] PendingLaunch* JoinNodes(const PendingLaunch& node);

  /// Nodes run in the stream: those in other streams are not known to be alone. Returns whether
  /// there are any.
  bool MixNodes(StreamHandle stream);

  /// The launch is in its stream. False if it did not begin here.
  [[nodiscard]] bool End(LaunchHandle handle);

  /// The graph is in its stream, with its nodes.
  void EndGraph(std::uint64_t graph);

  /// The launch runs without its block.
  void Cancel(std::uint64_t number);

  /// Takes out the launches that are in a stream, or in any (no stream given).
  [[nodiscard]] std::vector<PendingLaunch> TakeEnded(std::optional<StreamHandle> stream);

  [[nodiscard]] bool HasNodes() const;
  [[nodiscard]] std::size_t NumNodesIn(StreamHandle stream) const;

 private:
  using Launches = std::vector<PendingLaunch>;

  [[nodiscard]] Launches::iterator FindBegun(LaunchHandle handle);
  [[nodiscard]] PendingLaunch* FindNodes(StreamHandle stream);
  PendingLaunch& BeginAgain(Launches::iterator ended);
  void MoveToEnded(Launches::iterator begun);

  Launches begun_;  // few
  Launches ended_;  // in their streams
};

}  // namespace orrery::capture::sanitizer
