#pragma once

#include <cuda_runtime.h>

#include "device.h"

/// Launches a compute kernel of our own; its first and last beginning are in the slot.
cudaError_t LaunchStamped(cudaStream_t stream, const Stamped& settings, uint4* buffer,
                          unsigned long long vectors, Slot* slot);

cudaError_t StampedAttributes(int kind, int* registers, int* static_shared);
