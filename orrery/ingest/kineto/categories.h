#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::ingest::kineto {

/// What the category of an event says about its place in a trace.
enum class Category : std::uint8_t {
  kHostOp,
  kHostAnnotation,
  kDeviceAnnotation,
  kKernel,
  kCopy,
  kSet,
  kOtherDeviceWork,
  kRuntime,
  kDriver,
  kOtherApi,
  kSync,
  kEventRecord,
  kPython,
  kMemory,
  kLaunchFlow,
  kForwardBackwardFlow,
  kOther,
};

/// Understands the categories of the PyTorch profiler from 2021 to today.
[[nodiscard]] Category FindCategory(std::string_view name);

/// The capitalised names of 2021.
[[nodiscard]] bool IsCategoryOf2021(std::string_view name);

}  // namespace orrery::ingest::kineto
