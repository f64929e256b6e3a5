#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/memory/uvm/prefetch_tree.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// What a work's faults came to.
struct FaultFigures {
  std::int64_t faults = 0;  // pages that were touched and missing
  std::int64_t batches = 0;
  std::int64_t blocks = 0;  // in batches: one block in two batches counts twice
  Movement moved;

  FaultFigures& operator+=(const FaultFigures& other);
};

/// Serves the faults of works as the driver does: pages that are touched and missing are gathered
/// in the order of touches, up to a number a batch, grouped by block, brought in, and the work goes
/// on. A work touches each page once: what is evicted after its touch is not missed again.
class FaultServer {
 public:
  /// With a tree, the driver prefetches. Keeps a reference to the residency.
  FaultServer(int max_faults_per_batch, std::optional<PrefetchTree> tree, Residency& residency);

  /// Plays the touches of one work.
  FaultFigures Serve(std::span<const Touch> touches, int pages_per_block);

 private:
  struct Entry {
    std::size_t block = 0;
    PageMask pages;
  };

  void TouchBlock(std::size_t block, const PageMask& pages);
  PageMask& AskedOf(std::size_t block);
  void ServeBatch();

  int max_faults_;
  std::optional<PrefetchTree> tree_;
  Residency& residency_;
  std::vector<Entry> batch_;
  int num_in_batch_ = 0;
  FaultFigures figures_;
};

}  // namespace orrery::memory::uvm
