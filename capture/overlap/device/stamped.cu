#include "kernels.h"

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

__device__ uint4 Add(uint4 a, uint4 b) {
  return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

// Each thread reads and writes its bytes, neighbours side by side.
__device__ void MoveMemory(const Stamped& s, uint4* buffer, unsigned long long vectors) {
  const unsigned long long total = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const unsigned long long half = vectors / 2;
  unsigned long long at = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int rounds = static_cast<int>(s.work_each / 32);
#pragma unroll 4
  for (int i = 0; i < rounds; ++i) {
    buffer[half + at % half] = Add(buffer[at % half], make_uint4(1, 2, 3, 4));
    at += total;
  }
}

__device__ void Compute(const Stamped& s, uint4* buffer) {
  float a = static_cast<float>(threadIdx.x);
  float b = 1.0F;
  float c = 0.5F;
  float d = 0.25F;
  for (long long i = 0; i < s.work_each; i += 16) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      a = fmaf(a, 0.999F, 0.1F);
      b = fmaf(b, 0.998F, 0.2F);
      c = fmaf(c, 0.997F, 0.3F);
      d = fmaf(d, 0.996F, 0.4F);
    }
  }
  if (a + b + c + d == 12345.0F) {  // never, but the compiler cannot know
    buffer[0].x = 1;
  }
}

// Each load's place follows from the last one's value: latency and nothing else.
__device__ void Chase(const Stamped& s, uint4* buffer, unsigned long long vectors) {
  unsigned long long at =
      (static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x) * 7919ULL % vectors;
  for (long long i = 0; i < s.work_each; ++i) {
    const unsigned int found = *const_cast<volatile unsigned int*>(&buffer[at].x);
    at = (at * 1103515245ULL + 12345ULL + (found & 1U)) % vectors;
  }
  if (at == vectors) {
    buffer[0].x = 1;
  }
}

template <int kKind>
__global__ void StampedKernel(Stamped s, uint4* buffer, unsigned long long vectors, Slot* slot) {
  const unsigned long long begin = NowNs();
  if constexpr (kKind == 0) {
    MoveMemory(s, buffer, vectors);
  } else if constexpr (kKind == 1) {
    Compute(s, buffer);
  } else {
    Chase(s, buffer, vectors);
  }
  if (threadIdx.x == 0) {
    // Zero stands for "not yet", so the smallest is kept as the largest of its complement.
    atomicMax(&slot->first_begin_ns, ~begin);
    atomicMax(&slot->last_begin_ns, begin);
    atomicMax(&slot->last_end_ns, NowNs());
  }
}

using Kernel = void (*)(Stamped, uint4*, unsigned long long, Slot*);

Kernel KernelOf(int kind) {
  switch (kind) {
    case 0:
      return StampedKernel<0>;
    case 1:
      return StampedKernel<1>;
    default:
      return StampedKernel<2>;
  }
}

}  // namespace

cudaError_t LaunchStamped(cudaStream_t stream, const Stamped& settings, uint4* buffer,
                          unsigned long long vectors, Slot* slot) {
  KernelOf(settings.kind)<<<settings.blocks, settings.threads, settings.shared_bytes, stream>>>(
      settings, buffer, vectors, slot);
  return cudaGetLastError();
}

cudaError_t StampedAttributes(int kind, int* registers, int* static_shared) {
  return KernelTakes(KernelOf(kind), 200 << 10, registers, static_shared);
}

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
