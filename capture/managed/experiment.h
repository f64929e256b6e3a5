#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The experiments on managed memory, without CUDA, so that they can be tested on any machine.

namespace managed {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kBlockBytes = int64_t{2} << 20;
constexpr int64_t kPagesPerBlock = kBlockBytes / kPageBytes;
constexpr int64_t kMiB = int64_t{1} << 20;

/// One row of the result. Fields that mean nothing for its kind stay as they are here.
struct Experiment {
  std::string kind;  // chase, lanes, pages, stream, compute, prefetch, overlap, behind, copied
  // Who wrote it: the host all of it ("written") or what is touched ("touched"), cudaMemcpy
  // ("copied", "copied_pinned"), or "nobody".
  std::string backing = "written";
  std::string order = "scattered";  // of touched pages: scattered over blocks, or sequential
  std::string access = "read";      // of kernels; of prefetches: to_gpu, to_host
  bool resident = false;            // all is there already
  int64_t blocks = 0;               // of 2 MiB, in which single pages are touched
  int64_t pages_per_block = 0;
  int64_t bytes = 0;  // that are touched, or asked for in all calls together
  int64_t calls = 0;
  int64_t compute_ns = 0;  // for each 64 KiB, or of the kernel beside or before the prefetch
};

/// All experiments, the most telling first: a run that has no time left leaves out the last ones.
std::vector<Experiment> Plan();

/// Returns how much memory an experiment lies in.
int64_t SpanBytes(const Experiment& experiment);

/// Returns the pages that threads touch, thread 0 first. Scattered: neighbours lie in different
/// blocks, and the pages of a block are spread over it. Sequential: the first pages of each block.
std::vector<uint32_t> PageOrder(const Experiment& experiment);

/// Returns one line of JSON. `call_ns` are the times of host calls, where they were taken.
std::string RowOf(const Experiment& experiment, const std::vector<int64_t>& total_ns,
                  const std::vector<int64_t>& call_ns);

/// The middle one of some values; of an even number the lower.
int64_t Median(std::vector<int64_t> values);

/// Returns a text in quotes, as JSON wants it.
std::string Quoted(const std::string& text);

}  // namespace managed
