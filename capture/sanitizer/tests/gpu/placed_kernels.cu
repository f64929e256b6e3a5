#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Runs kernels of which it is known which warp touches which word, and a graph with many nodes of
// one kernel and one of another: with a wait after each launch, and without. Prints what they do as
// JSON, for check_places.py.

namespace {

constexpr unsigned kNodes = 2000;
constexpr unsigned kReplays = 2;
constexpr unsigned kUnwaitedReplays = 2;
constexpr unsigned kNodeThreads = 256;

void Check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    std::fprintf(stderr, "placed_kernels: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
  }
}

__device__ unsigned Linear(uint3 place, dim3 size) {
  return (place.z * size.y + place.y) * size.x + place.x;
}

float* Words(std::size_t count) {
  float* words = nullptr;
  Check(cudaMalloc(&words, count * sizeof(float)), "allocating");
  Check(cudaMemset(words, 0, count * sizeof(float)), "clearing");
  return words;
}

}  // namespace

/// Each thread writes the word of its number.
__global__ void placed_write(float* out) {
  const unsigned thread = Linear(threadIdx, blockDim);
  out[Linear(blockIdx, gridDim) * (blockDim.x * blockDim.y * blockDim.z) + thread] = 1.0F;
}

/// Lanes of a warp follow no rule: each reads the word whose number is the square of its lane.
__global__ void placed_gather(const float* in, float* out) {
  const unsigned thread = Linear(threadIdx, blockDim);
  const unsigned lane = thread % 32;
  const unsigned number =
      Linear(blockIdx, gridDim) * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[number] = in[lane * lane];
}

/// Reads and writes a word for each thread.
__global__ void merged_node(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1.0F;
}

/// The same, once in a graph.
__global__ void lone_node(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + 2.0F;
}

namespace {

void RunPlaced() {
  const dim3 grid(3, 2, 2);
  const dim3 block(5, 7, 3);
  float* const in = Words(32 * 32);
  float* const out = Words(12 * 105);
  placed_write<<<grid, block>>>(out);
  placed_gather<<<grid, block>>>(in, out);
  Check(cudaGetLastError(), "launching");
  Check(cudaDeviceSynchronize(), "waiting");
  std::printf("{\"out\": %llu, \"in\": %llu, \"blocks\": 12, \"threads\": 105, ",
              static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(out)),
              static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(in)));
}

cudaGraphExec_t CapturedGraph(cudaStream_t stream, const float* in, float* out) {
  // Nothing is loaded during the capture.
  merged_node<<<1, kNodeThreads, 0, stream>>>(in, out);
  lone_node<<<1, kNodeThreads, 0, stream>>>(in, out);
  Check(cudaStreamSynchronize(stream), "waiting");
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  for (unsigned i = 0; i < kNodes; ++i) {
    merged_node<<<1, kNodeThreads, 0, stream>>>(in, out);
  }
  lone_node<<<1, kNodeThreads, 0, stream>>>(in, out);
  cudaGraph_t graph = nullptr;
  Check(cudaStreamEndCapture(stream, &graph), "ending the capture");
  cudaGraphExec_t executable = nullptr;
  Check(cudaGraphInstantiate(&executable, graph, 0), "instantiating");
  Check(cudaGraphDestroy(graph), "ending the graph");
  return executable;
}

void RunGraph() {
  float* const in = Words(kNodeThreads);
  float* const out = Words(kNodeThreads);
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  const cudaGraphExec_t graph = CapturedGraph(stream, in, out);
  for (unsigned i = 0; i < kReplays; ++i) {
    Check(cudaGraphLaunch(graph, stream), "launching the graph");
    Check(cudaStreamSynchronize(stream), "waiting for the graph");
  }
  for (unsigned i = 0; i < kUnwaitedReplays; ++i) {
    Check(cudaGraphLaunch(graph, stream), "launching the graph");
  }
  merged_node<<<1, kNodeThreads, 0, stream>>>(in, out);
  Check(cudaStreamSynchronize(stream), "waiting for graphs");
  std::vector<float> result(kNodeThreads);
  Check(cudaMemcpy(result.data(), out, kNodeThreads * sizeof(float), cudaMemcpyDeviceToHost),
        "reading");
  std::printf(
      "\"nodes\": %u, \"replays\": %u, \"unwaited_replays\": %u, \"node_bytes\": %u, "
      "\"result\": %g}\n",
      kNodes, kReplays, kUnwaitedReplays, kNodeThreads * 4, static_cast<double>(result[7]));
}

}  // namespace

int main() {
  RunPlaced();
  RunGraph();
  return 0;
}
