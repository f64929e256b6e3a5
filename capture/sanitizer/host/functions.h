#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// The kernels of a cubin that may load, store or reduce through tensor maps, which no patch sees;
/// nothing where that cannot be known.
///
/// The encoding of instructions is not documented. For compute capability 9.0 the numbers were
/// found by compiling one kernel with each kind of instruction (CUDA 13.0) and comparing; of other
/// devices nothing is known. A kernel that calls functions is suspected where any code of the
/// module has them.
[[nodiscard]] std::optional<std::set<std::string>> KernelsWithTensorMaps(
    std::span<const std::byte> cubin);

/// A kernel, as a recording knows it.
struct FunctionFacts {
  std::uint64_t id = 0;
  std::string name;      // demangled
  std::uint64_t pc = 0;  // address of its code; 0: not known
  bool is_patched = false;
  bool may_use_tensor_maps = true;
};

/// The kernels that were launched, by their handles, so that names are read and demangled once.
/// Any thread may call.
class Functions {
 public:
  Functions(VendorCalls& calls, Recorder& recorder) : calls_(calls), recorder_(recorder) {}

  /// `is_patched` is asked for new functions only.
  template <typename IsPatched>
  [[nodiscard]] std::shared_ptr<const FunctionFacts> FactsOf(const LaunchEvent& event,
                                                             IsPatched&& is_patched) {
    if (auto known = Find(event)) {
      return known;
    }
    return Add(event, is_patched());
  }

  /// The module is loaded; its number is in the records of its functions.
  void AddModule(const ModuleEvent& event, std::uint64_t context);

  /// The module is gone, and with it the handles of its functions.
  void ForgetModule(const ModuleEvent& event, std::uint64_t context);

 private:
  struct Module {
    std::uint64_t number = 0;
    std::optional<std::set<std::string>> kernels_with_maps;  // nothing: not known
  };

  struct Known {
    ModuleHandle module;
    std::shared_ptr<const FunctionFacts> facts;
  };

  [[nodiscard]] std::shared_ptr<const FunctionFacts> Find(const LaunchEvent& event);
  std::shared_ptr<const FunctionFacts> Add(const LaunchEvent& event, bool is_patched);

  VendorCalls& calls_;
  Recorder& recorder_;
  std::mutex mutex_;                                   // guards all below
  std::unordered_map<std::uint64_t, Known> known_;     // by function handle
  std::unordered_map<std::uint64_t, Module> modules_;  // by module handle
};

}  // namespace orrery::capture::sanitizer
