#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "capture/recorder/call_stacks.h"
#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/contexts.h"
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
  explicit Launches(const LaunchParts& parts) : parts_(parts), parameters_(parts.calls) {}

  /// A thread enters a function that launches, and leaves it.
  void OnCall(const LaunchCall& call);
  static void OnCallDone();

  void OnBegin(const LaunchEvent& event);
  void OnEnd(const LaunchEvent& event);

  /// Before the nodes of a graph, and after.
  void OnGraphBegin(const GraphEvent& event);
  void OnGraphEnd(const GraphEvent& event);

  void OnFunctionsGone() { parameters_.ForgetAll(); }

  /// Reads the results of all launches that are in the stream, or in any stream of the context, and
  /// records them.
  void Drain(Context& context, std::optional<StreamHandle> stream);

 private:
  /// What became of a launch that was chosen.
  struct Outcome {
    const char* reason_left_out = nullptr;
    std::uint64_t merged_into = 0;  // number of the launch that it counts with
  };

  [[nodiscard]] Outcome Instrument(Context& context, const LaunchEvent& event,
                                   const FunctionFacts& facts, const Choice& choice,
                                   std::uint64_t number);
  [[nodiscard]] PendingLaunch Prepare(Context& context, const LaunchEvent& event,
                                      const FunctionFacts& facts, const Choice& choice,
                                      std::uint64_t number);
  [[nodiscard]] std::uint32_t ModesOf(const Choice& choice) const;
  [[nodiscard]] std::optional<LaunchPool::Joined> BeginInPool(Context& context,
                                                              const PendingLaunch& launch);
  void WaitAndDrain(Context& context, StreamHandle stream);
  void LeaveOut(const LaunchEvent& event, const FunctionFacts& facts, const stream::Launch& row,
                const char* reason);
  [[nodiscard]] std::uint64_t FinishAccesses(AccessStream& accesses,
                                             const std::vector<PendingLaunch>& launches);
  void Finish(Context& context, const std::vector<PendingLaunch>& launches, bool is_cut);

  LaunchParts parts_;
  ParameterReader parameters_;
  std::mutex mutex_;                 // guards left_out_
  std::set<LaunchHandle> left_out_;  // begun, not ended
};

}  // namespace orrery::capture::sanitizer
