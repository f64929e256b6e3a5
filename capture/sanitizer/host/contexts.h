#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capture/sanitizer/host/access_stream.h"
#include "capture/sanitizer/host/launch/launch_pool.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/patcher.h"
#include "capture/sanitizer/host/vendor.h"

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

  /// Returns true if nodes are left out in other streams.
  [[nodiscard]] bool AreElsewhere(StreamHandle stream);

  /// Returns true if nodes could be counted after a wait for the stream.
  [[nodiscard]] bool WantWait(StreamHandle stream);

  /// The graph is in its stream.
  void EndGraph(std::uint64_t graph);

  /// Notes that all work in the stream, or in any (no stream given), has run.
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

/// The state of the capture in one context. Nothing is shared between contexts.
class Context {
 public:
  struct Place {
    ContextHandle handle{};
    std::uint64_t device = 0;
    std::uint64_t number = 0;  // in the recording
  };

  Context(Place place, VendorCalls& calls, Recorder& recorder, const Options& options,
          Overheads& overheads);

  /// Takes the memory at the first launch, by work on its stream; says whether there is any.
  [[nodiscard]] bool Open(StreamHandle stream, Failures& failures);

  [[nodiscard]] const Place& place() const { return place_; }

  [[nodiscard]] LaunchPool& pool() { return pool_; }

  [[nodiscard]] LeftOutNodes& left_out_nodes() { return left_out_nodes_; }

  /// Null where accesses are not recorded one by one.
  [[nodiscard]] AccessStream* accesses() { return accesses_.get(); }

  /// Before the context is destroyed.
  void Close();

 private:
  bool OpenAll(StreamHandle stream, Failures& failures);

  Place place_;
  LaunchPool pool_;
  LeftOutNodes left_out_nodes_;
  std::unique_ptr<AccessStream> accesses_;
  std::once_flag is_opened_;
};

/// The contexts of the process, found by their handles. Any thread may call.
class Contexts {
 public:
  Contexts(VendorCalls& calls, Recorder& recorder, const Options& options, Overheads& overheads)
      : calls_(calls), recorder_(recorder), options_(options), overheads_(overheads) {}

  /// The context, new if it was not known.
  [[nodiscard]] std::shared_ptr<Context> Get(ContextHandle handle, std::uint64_t device);

  /// The context, or null.
  [[nodiscard]] std::shared_ptr<Context> Find(ContextHandle handle);

  [[nodiscard]] std::vector<std::shared_ptr<Context>> All();

  void Remove(ContextHandle handle);

 private:
  VendorCalls& calls_;
  Recorder& recorder_;
  Options options_;
  Overheads& overheads_;
  std::mutex mutex_;  // guards all below
  std::uint64_t last_number_ = 0;
  std::map<ContextHandle, std::shared_ptr<Context>> contexts_;
};

}  // namespace orrery::capture::sanitizer
