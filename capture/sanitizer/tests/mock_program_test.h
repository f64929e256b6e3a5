#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/recorder/recorder.h"
#include "capture/recorder/tests/recording_test.h"
#include "capture/sanitizer/host/session.h"
#include "capture/sanitizer/tests/cubin_test.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/mock_vendor_test.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {

/// One access of a warp.
struct MockAccess {
  WarpState state;
  Access access{};
};

/// A whole warp, lanes side by side from `address` on.
inline MockAccess WarpAt(std::uint64_t address, std::uint32_t bytes, std::uint32_t flags) {
  MockAccess access;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    access.state.addresses[lane] = address + std::uint64_t{lane} * bytes;
  }
  access.access = {.pc = 0x40, .bytes = bytes, .flags = flags};
  return access;
}

/// A program under capture: does what programs do, and fires the callbacks that the vendor would,
/// in the documented order.
class MockProgram {
 public:
  struct Place {
    std::uint64_t context = 1;
    std::uint64_t device = 0;
    std::uint64_t stream = 0x51;
    std::uint64_t module = 0x31;
  };

  struct Launch {
    Place place{};
    std::string kernel = "add_kernel";
    std::vector<MockAccess> accesses{};
    std::vector<std::uint64_t> parameters{};  // pointers; empty: the call is not told of
    std::uint64_t graph = 0;
    bool has_begin = true;
    bool has_end = true;
  };

  explicit MockProgram(const std::string& path, Options options = SmallOptions())
      : path_(path),
        recorder_({.path = path, .producer = "test"}, clock_),
        session_({.calls = vendor_,
                  .recorder = recorder_,
                  .clock = clock_,
                  .options = std::move(options),
                  .patches = "image",
                  .show = [](const char* line) { LastLine() = line; }}) {
    LastLine().clear();
  }

  static Options SmallOptions() {
    Options options;
    options.arena_bytes = 1 << 20;
    options.ring_bytes = 1 << 20;
    return options;
  }

  /// Returns the last line that the user was shown.
  static std::string& LastLine() {
    static std::string line;
    return line;
  }

  void Start(const Place& place) {
    const MockVendor::In in(MockVendor::Where::kContext);
    session_.OnContextCreated({{place.context}, place.device});
  }

  void Load(const Place& place, std::span<const std::byte> cubin = {}) {
    const MockVendor::In in(MockVendor::Where::kModule);
    session_.OnModuleLoaded({.context = {place.context}, .module = {place.module}, .cubin = cubin});
  }

  void Unload(const Place& place) {
    const MockVendor::In in(MockVendor::Where::kModule);
    session_.OnModuleUnloading({.context = {place.context}, .module = {place.module}, .cubin = {}});
  }

  /// Context and module, as all programs begin.
  void Begin(const Place& place) {
    Start(place);
    Load(place);
  }

  /// The same, with kernels that are known to have no loads and stores through tensor maps.
  void BeginPlain(const Place& place) {
    Start(place);
    Load(place, Cubin({{"plain", {0x7986}}}));
  }

  void Allocate(std::uint64_t address, std::uint64_t bytes, std::uint64_t flags = 0) {
    const MockVendor::In in(MockVendor::Where::kMemory);
    session_.OnMemoryAllocated({.context = {}, .address = address, .bytes = bytes, .flags = flags});
  }

  void Free(std::uint64_t address) {
    const MockVendor::In in(MockVendor::Where::kMemory);
    session_.OnMemoryFreed({.context = {}, .address = address});
  }

  /// Launches; returns the handle.
  LaunchHandle Run(const Launch& launch) {
    const LaunchEvent event = EventOf(launch);
    if (!launch.parameters.empty()) {
      Call(launch);
    }
    if (launch.has_begin) {
      const MockVendor::In in(MockVendor::Where::kLaunchBegin);
      session_.OnLaunchBegin(event);
    }
    if (launch.has_begin && launch.has_end) {
      RunOnDevice(launch, event);
    }
    if (launch.has_end) {
      const MockVendor::In in(MockVendor::Where::kLaunchEnd);
      session_.OnLaunchEnd(event);
    }
    session_.OnLaunchCallDone();
    return event.launch;
  }

  void BeginGraph(const Place& place, std::uint64_t graph) {
    const MockVendor::In in(MockVendor::Where::kGraph);
    session_.OnGraphLaunchBegin(GraphAt(place, graph));
  }

  void EndGraph(const Place& place, std::uint64_t graph) {
    vendor_.EndGraph(graph);
    const MockVendor::In in(MockVendor::Where::kGraph);
    session_.OnGraphLaunchEnd(GraphAt(place, graph));
  }

  void Synchronize(const Place& place) {
    vendor_.RunAll({place.stream});
    const MockVendor::In in(MockVendor::Where::kSync);
    session_.OnSync({.kind = stream::codes::kStreamSync,
                     .context = {place.context},
                     .handle = {place.stream},
                     .stream = place.stream,
                     .event = 0});
  }

  void SynchronizeContext(const Place& place) {
    const MockVendor::In in(MockVendor::Where::kSync);
    session_.OnSync({.kind = stream::codes::kContextSync,
                     .context = {place.context},
                     .handle = {},
                     .stream = 0,
                     .event = 0});
  }

  void Destroy(const Place& place) {
    const MockVendor::In in(MockVendor::Where::kDestroy);
    session_.OnContextDestroying({{place.context}, place.device});
  }

  /// Ends the program and the recording.
  void End() {
    session_.Finish();
    recorder_.Finish();
  }

  [[nodiscard]] Session& session() { return session_; }

  [[nodiscard]] MockVendor& vendor() { return vendor_; }

  [[nodiscard]] Recorder& recorder() { return recorder_; }

  template <typename Record>
  [[nodiscard]] std::vector<Record> All() const {
    return RecordsOf<Record>(path_);
  }

  /// Returns the final coverage of each launch, in order.
  [[nodiscard]] std::vector<std::uint64_t> Coverages() const {
    std::map<std::uint64_t, std::uint64_t> coverage_of_launch;
    for (const stream::Launch& launch : All<stream::Launch>()) {
      coverage_of_launch[launch.sequence] = launch.coverage;
    }
    for (const stream::LaunchEnd& end : All<stream::LaunchEnd>()) {
      if (end.coverage != 0) {
        coverage_of_launch[end.launch] = end.coverage;
      }
    }
    std::vector<std::uint64_t> coverages;
    for (const auto& [launch, coverage] : coverage_of_launch) {
      coverages.push_back(coverage);
    }
    return coverages;
  }

 private:
  LaunchEvent EventOf(const Launch& launch) {
    return {.context = {launch.place.context},
            .api_context = {},
            .device = launch.place.device,
            .handle = {launch.place.stream},
            .stream = launch.place.stream,
            .module = {launch.place.module},
            .function = {std::hash<std::string>()(launch.kernel) + launch.place.module},
            .launch = {++last_launch_},
            .name = launch.kernel.c_str(),
            .graph = launch.graph,
            .graph_node = launch.graph == 0 ? 0 : last_launch_.load()};
  }

  void RunOnDevice(const Launch& launch, const LaunchEvent& event) {
    const auto kernel = [accesses = launch.accesses](LaunchRecord& record) {
      for (const MockAccess& one : accesses) {
        EmulateGlobalAccess(record, one.state, one.access);
      }
    };
    if (launch.graph == 0) {
      vendor_.RunKernel(event.launch, event.handle, kernel);
    } else {
      vendor_.RunNode(event.launch, event.handle, launch.graph, kernel);
    }
  }

  void Call(const Launch& launch) {
    std::vector<const void*> pointers;
    for (const std::uint64_t& parameter : launch.parameters) {
      pointers.push_back(&parameter);
    }
    vendor_.num_parameters = static_cast<std::uint32_t>(pointers.size());
    const MockVendor::In in(MockVendor::Where::kDriverCall);
    session_.OnLaunchCall({.function = {std::hash<std::string>()(launch.kernel)},
                           .parameters = pointers.data(),
                           .block = {}});
  }

  static GraphEvent GraphAt(const Place& place, std::uint64_t graph) {
    return {.context = {place.context},
            .handle = {place.stream},
            .stream = place.stream,
            .graph = graph};
  }

  std::string path_;
  FakeClock clock_;
  MockVendor vendor_;
  Recorder recorder_;
  Session session_;
  std::atomic<std::uint64_t> last_launch_{0};
};

}  // namespace orrery::capture::sanitizer
