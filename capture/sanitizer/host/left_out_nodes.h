#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capture/sanitizer/host/vendor_calls.h"

namespace orrery::capture::sanitizer {

/// The nodes of graphs that run without a record in one context. There is one pointer for all nodes
/// in a stream: while such a node may run, no other in the stream gets a record, which that one
/// would count in too. Any thread may call.
class LeftOutNodes {
 public:
  struct Node {
    StreamHandle stream{};
    std::uint64_t graph = 0;
    bool could_be_counted = false;  // if nothing else were in the stream
  };

  /// A node is left out, and no other is in the stream.
  void Add(const Node& node, std::string reason);

  /// If a node in the stream is left out, this one is too: returns why the first was. Empty: none
  /// is.
  [[nodiscard]] std::string Join(const Node& node);

  /// Whether nodes are left out in other streams.
  [[nodiscard]] bool AreElsewhere(StreamHandle stream);

  /// Whether a wait for the stream would let nodes be counted.
  [[nodiscard]] bool WantWait(StreamHandle stream);

  /// The graph is in its stream.
  void EndGraph(std::uint64_t graph);

  /// What was in the stream, or in any (no stream given), has run.
  void OnPassed(std::optional<StreamHandle> stream);

 private:
  struct Group {
    std::string reason;
    std::vector<std::uint64_t> open_graphs;  // not yet in the stream
    bool wants_wait = false;
  };

  static void Note(const Node& node, Group& group);

  std::mutex mutex_;                      // guards all below
  std::map<StreamHandle, Group> groups_;  // by stream
};

}  // namespace orrery::capture::sanitizer
