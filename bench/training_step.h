#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery::bench {

enum class Thread : std::uint8_t { kMain, kAutograd };

/// Which end of a forward-backward arrow an operator carries.
enum class ArrowEnd : std::uint8_t { kNone, kForward, kBackward };

struct HostOp {
  std::string name;
  std::string arguments = {};  // JSON fields, each followed by ", "
  Thread thread = Thread::kMain;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  int sequence = -1;  // of autograd, counted inside the step
  ArrowEnd arrow = ArrowEnd::kNone;
  bool is_annotation = false;
};

enum class WorkKind : std::uint8_t { kKernel, kCopy, kSet };

/// What a launch starts on the device.
struct DeviceWork {
  WorkKind kind = WorkKind::kKernel;
  std::string name;
  std::string arguments = {};  // JSON fields that follow the correlation
  int stream = 7;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool is_collective = false;
};

struct RuntimeCall {
  std::string name;
  bool is_driver = false;
  int callback_id = 0;
  Thread thread = Thread::kMain;
  int op = 0;  // the operator around it
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<DeviceWork> work = std::nullopt;
};

struct MemoryEvent {
  Thread thread = Thread::kMain;
  std::int64_t at_ns = 0;
  std::int64_t bytes = 0;  // negative: freed
  std::int64_t address = 0;
  std::int64_t allocated_after = 0;
};

struct PythonCall {
  std::string name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  int parent = -1;
  int module_id = -1;
};

/// The mirror of an annotation on a stream.
struct DeviceRange {
  int op = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// All that happens in one training step, with times from its beginning. A trace repeats it.
struct TrainingStep {
  std::vector<HostOp> ops;
  std::vector<RuntimeCall> calls;
  std::vector<MemoryEvent> memory;
  std::vector<PythonCall> python;
  std::vector<DeviceRange> device_ranges;
  int num_sequences = 0;
  std::int64_t duration_ns = 0;
};

/// Makes a step of a tensor-parallel transformer: forward with Python stacks, backward on the
/// autograd thread, a fused optimizer, and a wait for the loss.
[[nodiscard]] TrainingStep MakeTransformerStep(int num_layers, std::uint64_t seed);

}  // namespace orrery::bench
