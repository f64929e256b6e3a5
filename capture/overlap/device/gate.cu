#include "gate.h"
#include "timer.cuh"

namespace {

constexpr unsigned long long kLeadNs = 40'000;  // from the host's word to the common start
constexpr unsigned long long kLongestWaitNs = 300'000'000;  // for a host that a call holds up

// Waits for the host, then says when both sides begin.
__device__ void Lead(const volatile unsigned int* host_go, Slot* slot) {
  const unsigned long long begin = NowNs();
  while (*host_go == 0) {
    if (NowNs() - begin > kLongestWaitNs) {
      slot->timed_out = 1;
      break;
    }
  }
  *const_cast<volatile unsigned long long*>(&slot->go_ns) = NowNs() + kLeadNs;
}

// A template, so that recordings tell the gates of the two sides apart by name.
template <int side>
__global__ void GateKernel(const volatile unsigned int* host_go, Slot* slot, int leads,
                           long long offset_ns) {
  if (leads != 0) {
    Lead(host_go, slot);
  }
  const volatile unsigned long long* const go = &slot->go_ns;
  const unsigned long long asked = NowNs();
  while (*go == 0) {
    if (NowNs() - asked > 2 * kLongestWaitNs) {
      slot->timed_out = 1;
      return;
    }
  }
  const unsigned long long begin = NowNs();
  const long long begin_cycles = clock64();
  const unsigned long long release = *go + static_cast<unsigned long long>(offset_ns);
  while (NowNs() < release) {
  }
  slot->gate_cycles[side] = static_cast<unsigned long long>(clock64() - begin_cycles);
  slot->release_ns[side] = NowNs();
  slot->gate_ns[side] = slot->release_ns[side] - begin;
  if (side == 0) {
    *const_cast<volatile unsigned int*>(&slot->phase) = 1;
  }
}

__global__ void EndKernel(Slot* slot) {
  *const_cast<volatile unsigned int*>(&slot->phase) = 2;
}

}  // namespace

cudaError_t LaunchGate(cudaStream_t stream, const unsigned int* host_go, Slot* slot, int side,
                       int leads, long long offset_ns) {
  const auto gate = side == 0 ? GateKernel<0> : GateKernel<1>;
  gate<<<1, 1, 0, stream>>>(host_go, slot, leads, offset_ns);
  return cudaGetLastError();
}

cudaError_t LaunchEnd(cudaStream_t stream, Slot* slot) {
  EndKernel<<<1, 1, 0, stream>>>(slot);
  return cudaGetLastError();
}
