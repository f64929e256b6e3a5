#include <chrono>

#include "ceilings.h"

namespace ceilings {
namespace {

__global__ void EmptyKernel() {}

__global__ void FlagKernel(volatile int* flag, int value) {
  *flag = value;
}

double HostSeconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// From the call of a launch on an idle GPU until the host sees what the kernel wrote.
double LaunchToFlagSeconds() {
  int* flag = nullptr;
  Check(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped), "mapped memory");
  auto* seen = const_cast<volatile int*>(flag);
  std::vector<double> seconds;
  for (int value = 1; value <= 500; ++value) {
    seconds.push_back(HostSeconds([&] {
      FlagKernel<<<1, 1>>>(flag, value);
      while (*seen != value) {
      }
    }));
    Check(cudaDeviceSynchronize(), "flag");
  }
  Check(cudaFreeHost(flag), "free");
  return Median(seconds);
}

/// Captures `kernels` empty kernels into a graph.
cudaGraphExec_t EmptyGraph(int kernels) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  Check(cudaStreamCreate(&stream), "stream");
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < kernels; ++i) {
    EmptyKernel<<<1, 1, 0, stream>>>();
  }
  Check(cudaStreamEndCapture(stream, &graph), "capture");
  Check(cudaGraphInstantiate(&executable, graph, 0), "graph");
  Check(cudaGraphDestroy(graph), "graph");
  Check(cudaStreamDestroy(stream), "stream");
  return executable;
}

}  // namespace

void MeasureLaunches(Report& report) {
  constexpr int kGraphKernels = 500;
  report.Row("launch_back_to_back", MedianSeconds([] { EmptyKernel<<<1, 1>>>(); }) * 1e6, "us");
  std::vector<double> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(HostSeconds([] { EmptyKernel<<<1, 1>>>(); }));
    Check(cudaDeviceSynchronize(), "launch");
  }
  report.Row("launch_call", Median(calls) * 1e6, "us");
  report.Row("launch_to_flag", LaunchToFlagSeconds() * 1e6, "us");
  const cudaGraphExec_t graph = EmptyGraph(kGraphKernels);
  const cudaGraphExec_t single = EmptyGraph(1);
  const auto seconds = MedianSeconds([&] { Check(cudaGraphLaunch(graph, nullptr), "graph"); });
  report.Row("graph_kernel", seconds / kGraphKernels * 1e6, "us");
  report.Row("graph_launch_of_one",
             MedianSeconds([&] { Check(cudaGraphLaunch(single, nullptr), "graph"); }) * 1e6, "us");
}

}  // namespace ceilings
