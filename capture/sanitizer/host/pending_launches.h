#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/sanitizer/host/launch_block.h"
#include "capture/sanitizer/host/vendor_calls.h"

namespace orrery::capture::sanitizer {

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
