#pragma once

#include <cuda_runtime.h>

#include "device.h"

/// Holds a stream until all of a run is queued and its time has come: sides begin at set times of
/// the GPU's own clock, and hold no more than one warp before.
cudaError_t LaunchGate(cudaStream_t stream, const unsigned int* host_go, Slot* slot, int side,
                       int leads, long long offset_ns);

/// Tells communication without an end of its own that the compute side has ended.
cudaError_t LaunchEnd(cudaStream_t stream, Slot* slot);
