#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture/sanitizer/device/patch_list.h"
#include "capture/sanitizer/host/vendor.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"

namespace orrery::capture::sanitizer {

/// Stands in for the vendor's library. Device memory is host memory, and a stream is a queue whose
/// work is done when somebody waits for it, so that what is still in use must really still be
/// there. A call that is not allowed in the callback that makes it fails the test, as does a use of
/// memory that is not there, or a wrong order of patching.
class MockVendor : public VendorCalls {
 public:
  /// The callback that the calling thread is in.
  enum class Where : std::uint8_t {
    kOutside,
    kContext,
    kModule,
    kDriverCall,
    kMemory,
    kLaunchBegin,
    kLaunchEnd,
    kGraph,
    kSync,
    kDestroy,
  };

  /// The thread is in a callback while this lives.
  class In {
   public:
    explicit In(Where where) : before_(std::exchange(where_, where)) {}

    ~In() { where_ = before_; }

    In(const In&) = delete;
    In& operator=(const In&) = delete;

   private:
    Where before_;
  };

  struct Call {
    std::string name;
    std::uint64_t bytes = 0;
  };

  /// Makes the next call of that name fail.
  void FailOnce(const std::string& name) {
    const std::lock_guard lock(mutex_);
    failing_.insert(name);
  }

  /// Appends the kernel of a launch to its stream: it sees the record that was bound to it.
  void RunKernel(LaunchHandle launch, StreamHandle stream,
                 std::function<void(LaunchRecord&)> kernel) {
    const std::lock_guard lock(mutex_);
    const auto bound = data_of_launch_.find(launch);
    const std::uint64_t address = bound == data_of_launch_.end() ? 0 : bound->second;
    data_of_launch_.erase(launch);
    if (address == 0) {
      return;
    }
    queues_[stream].push_back([this, address, kernel = std::move(kernel)] {
      EXPECT_TRUE(IsDeviceMemory(address, sizeof(LaunchRecord)));
      kernel(*reinterpret_cast<LaunchRecord*>(address));
    });
  }

  /// Appends the kernel of a node to its graph. Whatever is bound to single nodes, there is one
  /// pointer for all nodes, of any function: the last one that was bound when they run. That is
  /// what an H200 does (driver 580, Compute Sanitizer 2025.3); that the pointer is changed so late,
  /// and for each stream apart, is the worst that may be and the best.
  void RunNode(LaunchHandle launch, StreamHandle stream, std::uint64_t graph,
               std::function<void(LaunchRecord&)> kernel) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& data = data_of_nodes_[has_one_pointer_for_all_streams ? StreamHandle{} : stream];
    if (const auto bound = data_of_launch_.extract(launch)) {
      data = bound.mapped();
    }
    nodes_[graph].emplace_back(stream, [this, &data, kernel = std::move(kernel)] {
      if (data != 0) {
        EXPECT_TRUE(IsDeviceMemory(data, sizeof(LaunchRecord)));
        auto& record = *reinterpret_cast<LaunchRecord*>(data);
        EXPECT_NE(record.modes, 0U) << "a node runs with a record that is not there any more";
        kernel(record);
      }
    });
  }

  /// The graph with its nodes is in its stream.
  void EndGraph(std::uint64_t graph) {
    const std::lock_guard lock(mutex_);
    for (auto& [stream, node] : std::exchange(nodes_[graph], {})) {
      queues_[stream].push_back(std::move(node));
    }
  }

  /// The device gets to what is in the stream.
  void RunAll(StreamHandle stream) {
    const std::lock_guard lock(mutex_);
    Run(stream);
  }

  [[nodiscard]] std::uint64_t NumCalls(const std::string& name) const {
    const auto found = num_calls_.find(name);
    return found == num_calls_.end() ? 0 : found->second;
  }

  CallResult AddPatches(ContextHandle context, const void* image) override {
    EXPECT_NE(image, nullptr);
    return Check("AddPatches", {Where::kContext, Where::kModule}, [&] {
      EXPECT_TRUE(patched_contexts_.insert(context).second) << "patches loaded twice";
    });
  }

  CallResult PatchInstructions(const char* instruction, ModuleHandle, const char* patch) override {
    return Check("PatchInstructions", {Where::kModule}, [&] {
      bool is_known = false;
      for (const PatchName& known : kPatchNames) {
        is_known = is_known ||
                   (std::string(known.instruction) == instruction &&
                    (std::string(known.patch) == patch || std::string(known.empty_patch) == patch));
      }
      EXPECT_TRUE(is_known) << patch << " is not a patch of " << instruction;
    });
  }

  CallResult PatchModule(ModuleHandle module) override {
    return Check("PatchModule", {Where::kModule}, [&] {
      EXPECT_TRUE(patched_modules_.insert(module).second) << "module patched twice";
    });
  }

  CallResult Allocate(ContextHandle, std::uint64_t bytes, std::uint64_t* address) override {
    return Check("Allocate", {Where::kLaunchBegin}, [&] {
      memory_.push_back(std::make_unique<char[]>(bytes));
      // New memory contains garbage.
      std::memset(memory_.back().get(), 0xcd, bytes);
      *address = reinterpret_cast<std::uint64_t>(memory_.back().get());
      device_memory_[*address] = bytes;
    });
  }

  CallResult AllocateHost(ContextHandle, std::uint64_t bytes, void** memory) override {
    return Check("AllocateHost", {Where::kLaunchBegin}, [&] {
      memory_.push_back(std::make_unique<char[]>(bytes));
      *memory = memory_.back().get();
      pinned_memory_[reinterpret_cast<std::uint64_t>(*memory)] = bytes;
    });
  }

  CallResult Free(ContextHandle, std::uint64_t address) override {
    return Check("Free", {Where::kDestroy}, [&] { EXPECT_EQ(device_memory_.erase(address), 1U); });
  }

  CallResult FreeHost(ContextHandle, void* memory) override {
    return Check("FreeHost", {Where::kDestroy}, [&] {
      EXPECT_EQ(pinned_memory_.erase(reinterpret_cast<std::uint64_t>(memory)), 1U);
    });
  }

  CallResult Memset(std::uint64_t address, int value, std::uint64_t bytes,
                    StreamHandle stream) override {
    return Check("Memset", kWithCopies, [&] {
      queues_[stream].push_back([this, address, value, bytes] {
        EXPECT_TRUE(IsDeviceMemory(address, bytes));
        std::memset(reinterpret_cast<void*>(address), value, bytes);
      });
    });
  }

  CallResult CopyToDevice(std::uint64_t address, const void* source, std::uint64_t bytes,
                          StreamHandle stream) override {
    return Check("CopyToDevice", {Where::kLaunchBegin}, [&] {
      EXPECT_TRUE(IsPinnedMemory(source, bytes));
      queues_[stream].push_back([this, address, source, bytes] {
        EXPECT_TRUE(IsDeviceMemory(address, bytes));
        std::memcpy(reinterpret_cast<void*>(address), source, bytes);
      });
    });
  }

  CallResult CopyToHost(void* destination, std::uint64_t address, std::uint64_t bytes,
                        StreamHandle stream) override {
    return Check("CopyToHost", kWithCopies, [&] {
      Run(stream);
      EXPECT_TRUE(IsPinnedMemory(destination, bytes));
      EXPECT_TRUE(IsDeviceMemory(address, bytes));
      std::memcpy(destination, reinterpret_cast<void*>(address), bytes);
    });
  }

  CallResult Synchronize(StreamHandle stream) override {
    return Check("Synchronize", kWithCopies, [&] { Run(stream); });
  }

  CallResult SetLaunchData(LaunchHandle launch, FunctionHandle, StreamHandle,
                           std::uint64_t address) override {
    return Check("SetLaunchData", {Where::kLaunchBegin},
                 [&] { data_of_launch_[launch] = address; });
  }

  CallResult ParameterInfo(FunctionHandle, std::uint32_t index, ParameterPlace* place) override {
    if (const auto load = std::exchange(on_parameter_info, nullptr)) {
      load();
    }
    *place = {std::uint64_t{index} * sizeof(std::uint64_t), sizeof(std::uint64_t)};
    if (index >= num_parameters) {
      return kNoSuchParameter;
    }
    return Check("ParameterInfo", {Where::kDriverCall}, [] {});
  }

  CallResult FunctionPlace(ModuleHandle, const char*, std::uint64_t* pc,
                           std::uint64_t* bytes) override {
    *pc = 0;
    *bytes = 0;
    return Check("FunctionPlace", {Where::kLaunchBegin}, [] {});
  }

  CallResult FactsOf(std::uint64_t device, DeviceFacts* facts) override {
    return Check("FactsOf", {Where::kContext},
                 [&] { facts->name = "device " + std::to_string(device); });
  }

  const char* TextOf(CallResult) override { return "as the test wants"; }

  std::uint32_t num_parameters = 3;  // of all functions, 8 bytes each
  // Happens once, when somebody asks for parameters: a module is loaded lazily.
  std::function<void()> on_parameter_info;
  bool has_one_pointer_for_all_streams = false;  // of nodes

 private:
  static constexpr CallResult kFailure = 7;
  static constexpr CallResult kNoSuchParameter = 1;
  // Results are read where somebody has waited, where there is no room, and at the very end.
  static inline const std::set<Where> kWithCopies{Where::kLaunchBegin, Where::kSync,
                                                  Where::kDestroy, Where::kGraph, Where::kOutside};

  template <typename Action>
  CallResult Check(const std::string& name, const std::set<Where>& allowed, Action&& action) {
    const std::lock_guard lock(mutex_);
    ++num_calls_[name];
    EXPECT_TRUE(allowed.contains(where_)) << name << " is not allowed here";
    if (failing_.erase(name) != 0) {
      return kFailure;
    }
    action();
    return 0;
  }

  void Run(StreamHandle stream) {
    auto& queue = queues_[stream];
    while (!queue.empty()) {
      const auto work = std::move(queue.front());
      queue.pop_front();
      work();
    }
  }

  static bool IsIn(const std::map<std::uint64_t, std::uint64_t>& memory, std::uint64_t address,
                   std::uint64_t bytes) {
    const auto after = memory.upper_bound(address);
    return after != memory.begin() &&
           address + bytes <= std::prev(after)->first + std::prev(after)->second;
  }

  [[nodiscard]] bool IsDeviceMemory(std::uint64_t address, std::uint64_t bytes) const {
    return IsIn(device_memory_, address, bytes);
  }

  [[nodiscard]] bool IsPinnedMemory(const void* memory, std::uint64_t bytes) const {
    return IsIn(pinned_memory_, reinterpret_cast<std::uint64_t>(memory), bytes);
  }

  static inline thread_local Where where_ = Where::kOutside;

  std::mutex mutex_;  // guards all below
  std::set<std::string> failing_;
  std::map<std::string, std::uint64_t> num_calls_;
  std::set<ContextHandle> patched_contexts_;
  std::set<ModuleHandle> patched_modules_;
  std::vector<std::unique_ptr<char[]>> memory_;
  std::map<std::uint64_t, std::uint64_t> device_memory_;
  std::map<std::uint64_t, std::uint64_t> pinned_memory_;
  std::map<LaunchHandle, std::uint64_t> data_of_launch_;
  std::map<StreamHandle, std::uint64_t> data_of_nodes_;
  std::map<std::uint64_t, std::vector<std::pair<StreamHandle, std::function<void()>>>>
      nodes_;  // of graphs that are being launched
  std::map<StreamHandle, std::deque<std::function<void()>>> queues_;
};

}  // namespace orrery::capture::sanitizer
