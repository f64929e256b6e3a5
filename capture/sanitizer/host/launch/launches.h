#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/recorder/call_stacks.h"
#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/contexts.h"
#include "capture/sanitizer/host/functions.h"
#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/patcher.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// Reads what launches counted, and records it. Any thread may call.
class Drainer {
 public:
  Drainer(VendorCalls& calls, Recorder& recorder, Overheads& overheads)
      : calls_(calls), recorder_(recorder), overheads_(overheads) {}

  /// Reads the results of all launches that are in the stream, or in any stream of the context, and
  /// records them.
  void Drain(Context& context, std::optional<StreamHandle> stream);

  /// The same, where nothing of before runs any more.
  void DrainPassed(Context& context, std::optional<StreamHandle> stream);

  void WaitAndDrain(Context& context, StreamHandle stream);

 private:
  [[nodiscard]] std::uint64_t FinishAccesses(AccessStream& accesses,
                                             const std::vector<PendingLaunch>& launches);
  void Finish(Context& context, const std::vector<PendingLaunch>& launches, bool is_cut);

  VendorCalls& calls_;
  Recorder& recorder_;
  Overheads& overheads_;
};

/// The parts of a session that handle launches.
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
  /// The outcome of instrumenting a launch.
  struct Outcome {
    std::string reason_left_out{};
    std::uint64_t merged_into = 0;                // number of the launch that it counts with
    std::optional<std::int64_t> inclusion_ppb{};  // if taken from that launch

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
