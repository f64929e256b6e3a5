// The functions that Python calls. Each returns 0 or CUDA's error; state is that of one process and
// one GPU, set up once.
#include <cstring>

#include "kernels.h"

namespace {

constexpr unsigned long long kHostBytes = 64ULL << 20;
constexpr unsigned long long kComputeBytes = 1ULL << 30;
constexpr unsigned long long kCacheBytes = 12ULL << 20;

struct State {
  int slots = 0;
  Slot* slot = nullptr;
  BlockRecord* records = nullptr;  // kMostBlocks of each slot
  unsigned int* host_go = nullptr;
  unsigned int* host_go_on_device = nullptr;
  CommunicationBuffers buffers = {};
  uint4* compute = nullptr;  // of our own compute kernels: memory that communication does not touch
  cudaStream_t streams[4] = {};  // compute: usual, high priority; communication: usual, high
  cudaEvent_t ended[4] = {};
};

State state;

/// Calls one function after another until one fails; its error.
template <typename... Calls>
cudaError_t InTurn(Calls... calls) {
  cudaError_t status = cudaSuccess;
  static_cast<void>(((status = static_cast<cudaError_t>(calls()), status == cudaSuccess) && ...));
  return status;
}

cudaError_t MakeStreams() {
  int least = 0;
  int greatest = 0;
  cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
  for (int i = 0; i < 4 && status == cudaSuccess; ++i) {
    status = cudaStreamCreateWithPriority(&state.streams[i], cudaStreamNonBlocking,
                                          i % 2 == 0 ? least : greatest);
  }
  for (int i = 0; i < 4 && status == cudaSuccess; ++i) {
    status = cudaEventCreateWithFlags(&state.ended[i], cudaEventDisableTiming);
  }
  return status;
}

cudaError_t MakeBuffers(unsigned long long device_bytes) {
  state.buffers.device_vectors = device_bytes / sizeof(uint4);
  state.buffers.host_vectors = kHostBytes / sizeof(uint4);
  state.buffers.cache_vectors = kCacheBytes / sizeof(uint4);
  void* host = nullptr;
  return InTurn([&] { return cudaMalloc(&state.buffers.device, device_bytes); },
                [&] { return cudaMemset(state.buffers.device, 1, device_bytes); },
                [&] { return cudaMalloc(&state.compute, kComputeBytes); },
                [&] { return cudaMemset(state.compute, 1, kComputeBytes); },
                [&] { return cudaHostAlloc(&host, kHostBytes, cudaHostAllocMapped); },
                [&] {
                  std::memset(host, 1, kHostBytes);
                  return cudaHostGetDevicePointer(reinterpret_cast<void**>(&state.buffers.host),
                                                  host, 0);
                });
}

cudaError_t MakeSlots(int slots) {
  state.slots = slots;
  const std::size_t count = static_cast<std::size_t>(slots);
  return InTurn(
      [&] { return cudaMalloc(&state.slot, count * sizeof(Slot)); },
      [&] { return cudaMalloc(&state.records, count * kMostBlocks * sizeof(BlockRecord)); },
      [&] {
        return cudaHostAlloc(&state.host_go, count * sizeof(unsigned int), cudaHostAllocMapped);
      },
      [&] {
        return cudaHostGetDevicePointer(reinterpret_cast<void**>(&state.host_go_on_device),
                                        state.host_go, 0);
      });
}

cudaError_t LoadKernels() {
  int registers = 0;
  int shared = 0;
  cudaError_t status = cudaSuccess;
  for (int heavy = 0; heavy < 2 && status == cudaSuccess; ++heavy) {
    status = CommunicationAttributes(heavy, &registers, &shared);
  }
  for (int kind = 0; kind < 3 && status == cudaSuccess; ++kind) {
    status = StampedAttributes(kind, &registers, &shared);
  }
  return status;
}

}  // namespace

extern "C" {

int orrery_overlap_open(int slots, unsigned long long device_bytes) {
  return InTurn(
      MakeStreams, [&] { return MakeBuffers(device_bytes); }, [&] { return MakeSlots(slots); },
      LoadKernels);
}

/// Streams: 0 and 1 for computing at usual and high priority, 2 and 3 for communication.
void* orrery_overlap_stream(int which) {
  return state.streams[which];
}

/// Clears all slots; the GPU must be idle.
int orrery_overlap_clear() {
  const std::size_t count = static_cast<std::size_t>(state.slots);
  std::memset(state.host_go, 0, count * sizeof(unsigned int));
  return InTurn(
      [&] { return cudaMemset(state.slot, 0, count * sizeof(Slot)); },
      [&] { return cudaMemset(state.records, 0, count * kMostBlocks * sizeof(BlockRecord)); },
      cudaDeviceSynchronize);
}

int orrery_overlap_gate(int stream, int slot, int side, int leads, long long offset_ns) {
  return LaunchGate(state.streams[stream], state.host_go_on_device + slot, state.slot + slot, side,
                    leads, offset_ns);
}

int orrery_overlap_communicate(int stream, int slot, const Communication* settings) {
  return LaunchCommunication(state.streams[stream], *settings, state.buffers, state.slot + slot,
                             state.records + static_cast<std::size_t>(slot) * kMostBlocks);
}

int orrery_overlap_stamped(int stream, int slot, const Stamped* settings) {
  return LaunchStamped(state.streams[stream], *settings, state.compute,
                       kComputeBytes / sizeof(uint4), state.slot + slot);
}

int orrery_overlap_end(int stream, int slot) {
  return LaunchEnd(state.streams[stream], state.slot + slot);
}

/// Lets no stream go on before the others have ended what they hold.
int orrery_overlap_join() {
  cudaError_t status = cudaSuccess;
  for (int i = 0; i < 4 && status == cudaSuccess; ++i) {
    status = cudaEventRecord(state.ended[i], state.streams[i]);
  }
  for (int i = 0; i < 16 && status == cudaSuccess; ++i) {
    if (i / 4 != i % 4) {
      status = cudaStreamWaitEvent(state.streams[i / 4], state.ended[i % 4], 0);
    }
  }
  return status;
}

/// Tells the leading gate of a slot that all is queued.
void orrery_overlap_go(int slot) {
  *const_cast<volatile unsigned int*>(state.host_go + slot) = 1;
}

/// Copies slots [0, count) and the records of their blocks; the GPU must be idle.
int orrery_overlap_read(int count, Slot* slots, BlockRecord* records) {
  const std::size_t size = static_cast<std::size_t>(count);
  return InTurn(
      [&] { return cudaMemcpy(slots, state.slot, size * sizeof(Slot), cudaMemcpyDeviceToHost); },
      [&] {
        return cudaMemcpy(records, state.records, size * kMostBlocks * sizeof(BlockRecord),
                          cudaMemcpyDeviceToHost);
      });
}

int orrery_overlap_communication_takes(int heavy, int* registers, int* shared) {
  return CommunicationAttributes(heavy, registers, shared);
}

int orrery_overlap_stamped_takes(int kind, int* registers, int* shared) {
  return StampedAttributes(kind, registers, shared);
}

const char* orrery_overlap_error(int status) {
  return cudaGetErrorString(static_cast<cudaError_t>(status));
}

}  // extern "C"
