#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#include "device.h"
#include "experiment.h"

namespace managed {

/// Runs experiments, each so often after a first time that does not count.
class Runner {
 public:
  explicit Runner(int repeats);
  ~Runner();

  /// Prints the experiment's row.
  void Run(const Experiment& experiment);

 private:
  struct Times {
    int64_t total_ns = 0;
    int64_t call_ns = -1;
  };

  Times Once(const Experiment& experiment);
  Times OnFreshMemory(const Experiment& experiment);
  void Prepare(const Experiment& experiment);
  Times Measure(const Experiment& experiment, Memory& memory);
  void LaunchKernel(const Experiment& experiment, Memory& memory);
  Times TimeKernel(const Experiment& experiment, Memory& memory);
  Times TimePrefetch(const Experiment& experiment, Memory& memory);
  Times TimeBehind(const Experiment& experiment, Memory& memory);
  int64_t ElapsedNs() const;
  Times TimeOverlap(const Experiment& experiment, Memory& memory);
  void PutPagesOnGpu(const Experiment& experiment);

  int repeats_;
  Memory pool_;
  std::vector<uint32_t> pages_;  // of the experiment that runs
  uint32_t* gpu_pages_ = nullptr;
  int64_t* out_ = nullptr;
  cudaStream_t kernels_ = nullptr;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace managed
