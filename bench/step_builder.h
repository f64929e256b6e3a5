#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/training_step.h"

namespace orrery::bench {

/// One argument of an operator, as the profiler records it.
struct OpInput {
  std::vector<std::int64_t> dims;
  std::string_view type;      // "c10::BFloat16", "Scalar", "" for none
  std::string_view concrete;  // value of a scalar or list
};

struct KernelShape {
  std::string_view name;
  int registers = 32;
  int shared_memory = 0;
  int grid = 1024;
  int block = 128;
  std::int64_t duration_ns = 5000;
};

/// Lays out one step in time, the way a program runs: calls nest, the clock only goes forward, each
/// stream does one thing after another.
class StepBuilder {
 public:
  explicit StepBuilder(std::uint64_t seed) : random_state_(seed) {}

  void set_thread(Thread thread) { thread_ = thread; }

  int BeginOp(std::string name, const std::vector<OpInput>& inputs);
  int BeginAnnotation(std::string name);
  void EndOp(int op);

  HostOp& op(int op) { return step_.ops[static_cast<std::size_t>(op)]; }

  int BeginPython(std::string name, int module_id = -1);
  void EndPython(int call);

  /// Calls of the runtime are made by the innermost open operator.
  void Call(std::string_view name, int callback_id);
  void LaunchKernel(const KernelShape& kernel);
  void LaunchCollective(std::string_view kernel_name, std::string_view collective,
                        std::int64_t elements, std::int64_t duration_ns);
  void LaunchCopy(std::string_view name, std::int64_t bytes);
  void LaunchSet(std::int64_t bytes);
  void WaitForDevice();

  void Allocate(std::int64_t bytes);
  void FreeOldest();
  void FreeAll();

  /// Mirrors an annotation on the device, over the work launched inside it.
  void MirrorOnDevice(int annotation);

  int NextSequence() { return step_.num_sequences++; }

  /// Returns a number from `low` to `high`, inclusive.
  std::int64_t Random(std::int64_t low, std::int64_t high);

  TrainingStep Finish();

 private:
  struct Block {
    std::int64_t bytes;
    std::int64_t address;
  };

  void Pass(std::int64_t low_ns, std::int64_t high_ns) { now_ns_ += Random(low_ns, high_ns); }

  void Launch(std::string_view call, int callback_id, DeviceWork work, std::int64_t duration_ns);
  void RecordMemory(std::int64_t bytes, std::int64_t address);

  TrainingStep step_;
  std::uint64_t random_state_;
  Thread thread_ = Thread::kMain;
  std::int64_t now_ns_ = 0;
  std::vector<int> open_ops_;
  std::vector<int> open_python_;
  std::map<int, std::int64_t> stream_free_ns_;
  std::vector<Block> blocks_;
  std::size_t oldest_block_ = 0;
  std::int64_t next_address_ = 0x7f0000000000;
  std::int64_t allocated_ = std::int64_t{24} << 30;
};

/// Returns the shape fields of an operator: concrete inputs, types, strides, dims.
[[nodiscard]] std::string OpArguments(const std::vector<OpInput>& inputs);

}  // namespace orrery::bench
