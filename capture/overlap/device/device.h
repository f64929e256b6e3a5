#pragma once

#include <cstdint>

// Data that the host and the kernels of the overlap experiments share. All times are from the GPU's
// global timer, in nanoseconds.

/// One run of a pair: where its kernels meet and what its gates saw. Zeroed before use.
struct Slot {
  unsigned long long go_ns;          // written by the leading gate
  unsigned long long release_ns[2];  // of the gate of the compute side, and of the other
  unsigned long long gate_ns[2];     // wait time of each gate, and in cycles: the SM clock
  unsigned long long gate_cycles[2];
  unsigned long long first_begin_ns;  // of the blocks of a stamped compute kernel
  unsigned long long last_begin_ns;
  unsigned long long last_end_ns;
  unsigned int phase;      // 1: the compute side was released, 2: it has ended
  unsigned int timed_out;  // a gate waited too long for the host
};

/// The times of one block of a communication-like kernel.
struct BlockRecord {
  unsigned long long begin_ns;
  unsigned long long mark_ns;  // when it saw that the compute side was released
  unsigned long long end_ns;
  unsigned long long mark_bytes;  // payload until then
  unsigned long long end_bytes;
  unsigned long long cycles;  // from begin to end
  unsigned int sm;
  unsigned int chunks;
};

enum Pattern : int { kCopy = 0, kReduceCopy = 1, kSpin = 2, kLowLatency = 3, kLowLatency128 = 4 };

enum Place : int { kDeviceMemory = 0, kCache = 1, kHost = 2 };

/// A communication-like kernel: persistent blocks that move chunks at a set rate.
struct Communication {
  int pattern;
  int place;
  int heavy;  // 1: as many registers as NCCL's kernels have; 0: few
  int blocks;
  int threads;
  int shared_bytes;
  long long chunk_bytes;  // payload
  long long chunk_ns;     // a block begins at most one chunk in this time; 0: no limit
  long long chunks_each;  // of a block; 0: until the compute side has ended
  long long longest_ns;   // ends after this in any case
};

/// A compute kernel of our own, whose blocks say when they ran.
struct Stamped {
  int kind;  // 0: moves memory, 1: computes, 2: waits for memory (each load after the last)
  int blocks;
  int threads;
  int shared_bytes;
  long long work_each;  // bytes, multiply-adds or loads of one thread
};

constexpr int kMostBlocks = 264;
