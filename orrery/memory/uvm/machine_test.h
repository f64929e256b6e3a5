#pragma once

#include <cstdint>

#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

// A machine for tests with round numbers: four pages a block, two faults a batch, and a page takes
// 10 ns when prefetched, 20 ns when faulted, 5 ns when evicted and 1 ns when it is empty.
inline constexpr std::int64_t kPage = 4096;
inline constexpr std::int64_t kBlock = 4 * kPage;

inline Parameters TestParameters() {
  return {.block_bytes = kBlock,
          .page_bytes = kPage,
          .leaf_bytes = kPage,
          .threshold_percent = 51,
          .batch_faults = 2,
          .batch_latency_ns = 100,
          .block_service_ns = 10,
          .prefetch_call_ns = 1};
}

inline Rates TestRates() {
  const double page_each_ns = static_cast<double>(kPage) * 1e9;
  return {.prefetch = {.copied = {page_each_ns / 10}, .empty = {page_each_ns}},
          .fault = {.copied = {page_each_ns / 20}, .empty = {page_each_ns}},
          .eviction = {page_each_ns / 5}};
}

/// A builder in which addresses are chosen by hand.
inline WorkloadBuilder TestBuilder() {
  return {kPage, kBlock};
}

/// Adds `num_pages` pages that are an object of their own.
inline std::size_t AddAlone(WorkloadBuilder& builder, std::int64_t num_pages) {
  const AddressRange memory{.address = 1 << 20, .bytes = num_pages * kPage};
  return builder.AddObject(builder.AddRoot(memory), memory).value();
}

/// Adds an operator of one work that touches objects in full.
template <typename... Objects>
std::size_t AddUse(WorkloadBuilder& builder, std::int64_t duration_ns, Objects... objects) {
  const std::size_t op = builder.AddOperator("op");
  builder.AddWork(op, duration_ns);
  (builder.AddTouch(objects), ...);
  return op;
}

}  // namespace orrery::memory::uvm
