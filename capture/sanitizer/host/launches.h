#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "capture/recorder/call_stacks.h"
#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/contexts.h"
#include "capture/sanitizer/host/drainer.h"
#include "capture/sanitizer/host/functions.h"
#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/patcher.h"
#include "capture/sanitizer/host/selection.h"
#include "capture/sanitizer/host/tensor_maps.h"
#include "capture/sanitizer/host/vendor_events.h"

namespace orrery::capture::sanitizer {

/// What launches are told to: the parts of a session that belong to them.
struct LaunchParts {
  VendorCalls& calls;
  Recorder& recorder;
  const Options& options;
  Overheads& overheads;
  Failures& failures;
  Contexts& contexts;
  Patcher& patcher;
  Functions& functions;
  ObjectTable& objects;
  Selection& selection;
  TensorMaps& maps;
  CallStacks* stacks;  // null: not asked for
};

/// Follows launches from the driver's call to their results. Any thread may call.
class Launches {
 public:
  explicit Launches(const LaunchParts& parts)
      : parts_(parts),
        parameters_(parts.calls),
        drainer_(parts.calls, parts.recorder, parts.overheads) {}

  /// A thread enters a function that launches, and leaves it.
  void OnCall(const LaunchCall& call);
  static void OnCallDone();

  void OnBegin(const LaunchEvent& event);
  void OnEnd(const LaunchEvent& event);

  /// Before the nodes of a graph, and after.
  void OnGraphBegin(const GraphEvent& event);
  void OnGraphEnd(const GraphEvent& event);

  void OnFunctionsGone() { parameters_.ForgetAll(); }

  [[nodiscard]] Drainer& drainer() { return drainer_; }

 private:
  /// What became of a launch.
  struct Outcome {
    std::string reason_left_out{};
    std::uint64_t merged_into = 0;                // number of the launch that it counts with
    std::optional<std::int64_t> inclusion_ppb{};  // where it is that launch's

    [[nodiscard]] bool is_left_out() const { return !reason_left_out.empty(); }
  };

  [[nodiscard]] const char* WhyNotCountable(const LaunchEvent& event,
                                            const FunctionFacts& facts) const;
  [[nodiscard]] Outcome Instrument(Context& context, const LaunchEvent& event,
                                   const FunctionFacts& facts, const Choice& choice,
                                   std::uint64_t number);
  [[nodiscard]] Outcome InstrumentNode(Context& context, const LaunchEvent& event,
                                       const FunctionFacts& facts, const Choice& choice,
                                       std::uint64_t number);
  [[nodiscard]] Outcome DecideForNodes(Context& context, const LaunchEvent& event,
                                       const PendingLaunch& node);
  [[nodiscard]] Outcome Count(Context& context, const LaunchEvent& event,
                              const PendingLaunch& launch);
  [[nodiscard]] bool Bind(const LaunchEvent& event, std::uint64_t record);
  [[nodiscard]] PendingLaunch Prepare(Context& context, const LaunchEvent& event,
                                      const FunctionFacts& facts, const Choice& choice,
                                      std::uint64_t number);
  [[nodiscard]] std::uint32_t ModesOf(const Choice& choice) const;
  [[nodiscard]] std::optional<LaunchPool::Joined> BeginInPool(Context& context,
                                                              const PendingLaunch& launch);
  void LeaveOut(const LaunchEvent& event, const FunctionFacts& facts, const stream::Launch& row,
                const std::string& reason);

  LaunchParts parts_;
  ParameterReader parameters_;
  Drainer drainer_;
  std::mutex mutex_;  // guards settled_
  // Begun, and nothing happens at their ends: left out, or nodes, which end with their graph.
  std::set<LaunchHandle> settled_;
};

}  // namespace orrery::capture::sanitizer
