#include <chrono>
#include <cstdio>

#include "runner.h"

namespace managed {
namespace {

constexpr int64_t kPoolBytes = 2048 * kMiB;
constexpr int64_t kMaxPages = 64 * kPagesPerBlock;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Finish(const char* what) {
  Check(cudaGetLastError(), what);
  Check(cudaDeviceSynchronize(), what);
}

}  // namespace

Runner::Runner(int repeats) : repeats_(repeats), pool_(kPoolBytes) {
  Check(cudaMalloc(&gpu_pages_, kMaxPages * sizeof(uint32_t)), "memory");
  Check(cudaMalloc(&out_, sizeof(int64_t)), "memory");
  Check(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking), "stream");
  Check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "stream");
  Check(cudaEventCreate(&begin_), "event");
  Check(cudaEventCreate(&end_), "event");
}

Runner::~Runner() {
  cudaFree(gpu_pages_);
  cudaFree(out_);
  cudaStreamDestroy(kernels_);
  cudaStreamDestroy(copies_);
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

void Runner::Run(const Experiment& experiment) {
  PutPagesOnGpu(experiment);
  std::vector<int64_t> total_ns;
  std::vector<int64_t> call_ns;
  for (int repeat = -1; repeat < repeats_; ++repeat) {
    const Times times = Once(experiment);
    if (repeat < 0) {
      continue;
    }
    total_ns.push_back(times.total_ns);
    if (times.call_ns >= 0) {
      call_ns.push_back(times.call_ns);
    }
  }
  std::printf("%s\n", RowOf(experiment, total_ns, call_ns).c_str());
  std::fflush(stdout);
}

void Runner::PutPagesOnGpu(const Experiment& experiment) {
  pages_ = PageOrder(experiment);
  Check(cudaMemcpy(gpu_pages_, pages_.data(), pages_.size() * sizeof(uint32_t),
                   cudaMemcpyHostToDevice),
        "copying page numbers");
}

Runner::Times Runner::Once(const Experiment& experiment) {
  if (experiment.backing != "written") {
    return OnFreshMemory(experiment);
  }
  Prepare(experiment);
  return Measure(experiment, pool_);
}

// What the host has not written can only be had once of a piece of memory.
Runner::Times Runner::OnFreshMemory(const Experiment& experiment) {
  Memory fresh(SpanBytes(experiment));
  if (experiment.backing == "touched") {
    fresh.WritePages(pages_);
  } else if (experiment.backing != "nobody") {
    fresh.CopyFromHost(experiment.bytes, experiment.backing == "copied_pinned");
  }
  return Measure(experiment, fresh);
}

void Runner::Prepare(const Experiment& experiment) {
  const int64_t bytes = SpanBytes(experiment);
  if (bytes == 0) {
    return;
  }
  const bool starts_on_gpu = (experiment.access == "to_host") != experiment.resident;
  if (starts_on_gpu) {
    pool_.BringToGpu(bytes);
  } else {
    pool_.WriteOnHost(bytes);
  }
}

Runner::Times Runner::Measure(const Experiment& experiment, Memory& memory) {
  LaunchMark();
  Finish("mark");
  if (experiment.kind == "prefetch") {
    return TimePrefetch(experiment, memory);
  }
  if (experiment.kind == "overlap") {
    return TimeOverlap(experiment, memory);
  }
  if (experiment.kind == "behind") {
    return TimeBehind(experiment, memory);
  }
  return TimeKernel(experiment, memory);
}

void Runner::LaunchKernel(const Experiment& experiment, Memory& memory) {
  const auto count = static_cast<int64_t>(pages_.size());
  if (experiment.kind == "chase") {
    LaunchChase(memory.data(), gpu_pages_, count, out_);
  } else if (experiment.kind == "lanes") {
    LaunchTouch(memory.data(), gpu_pages_, count, 32, out_);
  } else if (experiment.kind == "pages") {
    LaunchTouch(memory.data(), gpu_pages_, count, 256, out_);
  } else if (experiment.kind == "compute") {
    LaunchCompute(memory.data(), experiment.bytes, experiment.compute_ns, out_);
  } else if (experiment.access == "write") {
    LaunchWrite(memory.data(), experiment.bytes);
  } else {
    LaunchRead(memory.data(), experiment.bytes, out_);
  }
}

Runner::Times Runner::TimeKernel(const Experiment& experiment, Memory& memory) {
  Check(cudaEventRecord(begin_), "event");
  LaunchKernel(experiment, memory);
  Check(cudaEventRecord(end_), "event");
  Finish("kernel");
  return {ElapsedNs(), -1};
}

Runner::Times Runner::TimePrefetch(const Experiment& experiment, Memory& memory) {
  const int64_t bytes = experiment.bytes / experiment.calls;
  const int64_t begin_ns = NowNs();
  for (int64_t call = 0; call < experiment.calls; ++call) {
    Prefetch(memory.data() + call * bytes, bytes, experiment.access == "to_gpu", copies_);
  }
  const int64_t called_ns = NowNs();
  Finish("prefetch");
  return {NowNs() - begin_ns, called_ns - begin_ns};
}

// From the end of the work before the calls to the end of the empty kernel behind them.
Runner::Times Runner::TimeBehind(const Experiment& experiment, Memory& memory) {
  const int64_t bytes = experiment.bytes / experiment.calls;
  LaunchSpin(experiment.compute_ns, nullptr);
  Check(cudaEventRecord(begin_), "event");
  const int64_t begin_ns = NowNs();
  for (int64_t call = 0; call < experiment.calls; ++call) {
    Prefetch(memory.data() + call * bytes, bytes, true, nullptr);
  }
  const int64_t called_ns = NowNs();
  LaunchMark();
  Check(cudaEventRecord(end_), "event");
  Finish("prefetch behind work");
  return {ElapsedNs(), called_ns - begin_ns};
}

int64_t Runner::ElapsedNs() const {
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
  return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

// Host time from before the kernel's launch until both are done.
Runner::Times Runner::TimeOverlap(const Experiment& experiment, Memory& memory) {
  const int64_t begin_ns = NowNs();
  if (experiment.compute_ns > 0) {
    LaunchSpin(experiment.compute_ns, kernels_);
  }
  const int64_t launched_ns = NowNs();
  if (experiment.calls > 0) {
    Prefetch(memory.data(), experiment.bytes, experiment.access == "to_gpu", copies_);
  }
  const int64_t called_ns = NowNs();
  Finish("overlap");
  return {NowNs() - begin_ns, called_ns - launched_ns};
}

}  // namespace managed
