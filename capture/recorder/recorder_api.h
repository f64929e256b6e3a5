#pragma once

#include <stdint.h>

// The functions that a recording library (capture/cupti, capture/sanitizer) exports to the process
// it is in: hooks in PyTorch and regions in Python call them. Plain C, found by name; without a
// library nothing is called. Each returns at once, from any thread, and takes no lock that is held
// while calling out.

#ifdef __cplusplus
extern "C" {
#endif

/// Of this interface: callers go without what a lower number lacks.
#define ORRERY_RECORDER_VERSION 1
int orrery_recorder_version(void);

/// A block that the framework's allocator handed out (level 2) or a segment it took from the driver
/// (level 1). `requested` is 0 where it is not known; the totals are the allocator's after the
/// event, 0: not known.
void orrery_memory_allocated(int level, uint64_t address, uint64_t bytes, uint64_t requested,
                             int device, uint64_t stream, uint64_t total_allocated,
                             uint64_t total_reserved);
/// `phase` as in codes::FreePhase: 0 freed, 1 requested, 2 completed.
void orrery_memory_freed(int level, uint64_t address, int phase, int device, uint64_t stream,
                         uint64_t total_allocated, uint64_t total_reserved);
/// A block or segment that was there when the hooks were set.
void orrery_memory_exists(int level, uint64_t address, uint64_t bytes, int device, uint64_t stream);
void orrery_out_of_memory(uint64_t bytes, int device, uint64_t free_bytes);

/// Operators and regions nest on each thread. A begin returns the number that its end hands back.
/// `sequence` ties a backward operator to its forward one, -1: none; `scope`: 0 function, 1
/// backward, 2 user.
uint64_t orrery_operator_begin(const char* name, int64_t sequence, int scope,
                               uint64_t forward_thread);
void orrery_operator_end(uint64_t begin);
uint64_t orrery_region_begin(const char* name);
void orrery_region_end(uint64_t begin);
void orrery_step(uint64_t number);

/// Sets this thread's Python frames until the next call, the innermost of `count` first
/// ("train.py:17 step"); 0: none. Launches that are recorded with stacks have them. Not in every
/// library of this version: callers go without.
void orrery_python_stack(const char* const* frames, uint64_t count);

/// Opens a selection: launches whose kernel name contains `kernels` (null: any), at most `launches`
/// of them (0: all), are recorded in detail until the end. Returns what the end hands back.
uint64_t orrery_detail_begin(const char* kernels, uint64_t launches);
void orrery_detail_end(uint64_t begin);

/// Adds a property of the framework ("torch", "2.11.0") to the header of the stream.
void orrery_setting(const char* key, const char* value);

/// Collects only these parts from now on: 1 GPU work, 2 calls; the hooks in PyTorch have the same
/// for 4 memory, 8 operators. To measure what a part costs; the stream says that it was used. Not
/// in every library of this version: callers go without.
void orrery_collect(int parts);

/// Writes out what is complete so far. At exit the library does so by itself.
void orrery_flush(void);

#ifdef __cplusplus
}
#endif
