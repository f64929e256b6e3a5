#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "capture/recorder/call_stacks.h"
#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/contexts.h"
#include "capture/sanitizer/host/functions.h"
#include "capture/sanitizer/host/launch/launches.h"
#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/patcher.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// Small numbers for handles, from 1, in the order in which they are first seen; 0 stays 0. Any
/// thread may call.
class Numbers {
 public:
  [[nodiscard]] std::uint64_t Of(std::uint64_t handle) {
    if (handle == 0) {
      return 0;
    }
    const std::lock_guard lock(mutex_);
    return numbers_.try_emplace(handle, numbers_.size() + 1).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
};

/// The capture of one process: the vendor's callbacks come in here, as plain structures, and become
/// records. Coarse events are always recorded; what is seen of launches, the selection says.
///
/// Any thread may call anything. Nothing ends the process, and nothing here calls the driver other
/// than through VendorCalls.
class Session : public RecorderListener {
 public:
  struct Setup {
    VendorCalls& calls;
    Recorder& recorder;
    const Clock& clock;  // for durations
    Options options;
    const void* patches = nullptr;  // the image
    Failures::Show show = nullptr;
  };

  explicit Session(const Setup& setup);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Contexts, streams and modules.
  void OnContextCreated(const ContextEvent& event);
  void OnContextDestroying(const ContextEvent& event);
  void OnStreamCreated(const StreamEvent& event);
  void OnStreamDestroying(const StreamEvent& event);
  void OnModuleLoaded(const ModuleEvent& event);
  void OnModuleUnloading(const ModuleEvent& event);

  // Memory.
  void OnMemoryAllocated(const MemoryEvent& event);
  void OnMemoryFreed(const MemoryEvent& event);

  void OnCopy(const CopyEvent& event) { RecordTransfer(event); }

  void OnSet(const SetEvent& event) { RecordTransfer(event); }

  // Launches. A call of the driver comes around the launch's own events.
  void OnLaunchCall(const LaunchCall& call);
  void OnLaunchCallDone();
  void OnTensorMap(const TensorMapEvent& event);
  void OnLaunchBegin(LaunchEvent event);
  void OnLaunchEnd(const LaunchEvent& event);

  // Graphs: nodes come as launches between begin and end.
  void OnGraphLaunchBegin(const GraphEvent& event);
  void OnGraphLaunchEnd(const GraphEvent& event);
  /// A graph that launches others from the device: no callback tells of those.
  void OnDeviceGraph();

  /// Waits that are over, and marks in streams.
  void OnSync(const SyncEvent& event);

  /// A callback could not be handled.
  void OnException(const char* what);

  /// The process ends: reads what can be read, and records what it all cost.
  void Finish();

  // As listener of the recorder.
  void OnAllocated(const stream::Allocation& allocation) override;
  void OnFreed(const stream::Free& free) override;
  void OnPythonStack(std::span<const std::string_view> frames) override;
  void OnDetailBegin(const DetailSelection& selection) override;
  void OnDetailEnd(std::uint64_t id) override;
  void OnFlush() override;

  [[nodiscard]] const Overheads& overheads() const { return overheads_; }

 private:
  [[nodiscard]] Context::Place PlaceOf(ContextHandle context, std::uint64_t device = 0);
  [[nodiscard]] bool IsNewDevice(std::uint64_t device);
  void WriteDevice(std::uint64_t device);
  template <typename Event>
  void RecordTransfer(const Event& event);
  [[nodiscard]] bool IsKnownPeer(const MemoryEvent& event);
  void DrainAll();

  Recorder& recorder_;
  Options options_;
  Overheads overheads_;
  Failures failures_;
  VendorCalls& calls_;
  ObjectTable objects_;
  Selection selection_;
  TensorMaps maps_;
  std::optional<CallStacks> stacks_;  // if they are asked for
  Patcher patcher_;
  Functions functions_;
  Contexts contexts_;
  Launches launches_;
  Numbers graphs_;
  Numbers nodes_;
  std::atomic<bool> is_finished_{false};
  std::mutex mutex_;                   // guards all below
  std::set<std::uint64_t> devices_;    // that the header tells of
  std::set<std::uint64_t> peer_maps_;  // addresses of memory seen from other devices
};

}  // namespace orrery::capture::sanitizer
