
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/memory/uvm/machine_test.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/memory/uvm/workload.h"

// Properties (4), (5) and (6) of the reference on memory profiling, section 15.

namespace orrery::memory::uvm {
namespace {

// A few segments with tensors in them, some of which hold data and some of which are freed; works
// touch parts of tensors.
Workload AnyWorkload() {
  const auto below = [](int end) { return *rc::gen::inRange(0, end); };
  WorkloadBuilder builder = TestBuilder();
  std::vector<std::size_t> tensors;
  const int num_segments = 1 + below(4);
  for (int i = 0; i < num_segments; ++i) {
    const AddressRange memory{.address = static_cast<std::uint64_t>(below(4) * kPage),
                              .bytes = (1 + below(12)) * kPage};
    const std::size_t root = builder.AddRoot(memory);
    const std::size_t segment = *builder.AddObject(root, memory);
    for (int part = below(3); part >= 0; --part) {
      const auto tensor = builder.AddObject(
          root, {.address = memory.address + static_cast<std::uint64_t>(below(8) * kPage / 2),
                 .bytes = (1 + below(5)) * kPage});
      if (tensor) {
        builder.SetContainer(*tensor, segment);
        builder.workload().objects[*tensor].first_operator = static_cast<std::size_t>(below(4));
        tensors.push_back(*tensor);
      }
    }
    if (below(2) == 0) {
      builder.Fill(segment);
    }
  }
  const int num_works = below(12);
  for (int work = 0; work < num_works && !tensors.empty(); ++work) {
    builder.AddWork(builder.AddOperator("op"), below(1000));
    for (int touch = below(4); touch > 0; --touch) {
      builder.AddTouch(tensors[static_cast<std::size_t>(below(static_cast<int>(tensors.size())))]);
    }
    if (below(8) == 0) {
      builder.EndRoot(static_cast<std::size_t>(below(num_segments)));
    }
  }
  return builder.Finish();
}

constexpr std::int64_t kPlenty = 1000 * kBlock;

Outcome RunPolicy(const Workload& workload, const Policy& policy, std::int64_t capacity_bytes,
                  int iterations) {
  return SimulatePolicy(workload, TestParameters(), TestRates(), policy,
                        {.capacity_bytes = capacity_bytes, .iterations = iterations});
}

// (4) Memory that is freed and touched again counts again, so nothing is freed here.
RC_GTEST_PROP(UvmPropertyTest, WithPlentyOfMemoryEachTouchedPageComesInOnce, ()) {
  Workload workload = AnyWorkload();
  for (Root& root : workload.roots) {
    root.end_work = kNoIndex;
  }
  std::set<std::int64_t> touched;
  for (const Touch& touch : workload.touches) {
    for (std::int64_t page = touch.pages.first; page < touch.pages.end(); ++page) {
      touched.insert(page);
    }
  }
  const auto distinct = static_cast<std::int64_t>(touched.size());

  RC_ASSERT(RunPolicy(workload, {}, kPlenty, 2).Moved().pages_in == distinct);
  RC_ASSERT(OracleMovement(workload, kPlenty, 2).pages_in == distinct);
}

// (5)
RC_GTEST_PROP(UvmPropertyTest, NoPolicyHasFewerPageInsThanTheOracle, ()) {
  const Workload workload = AnyWorkload();
  const std::int64_t capacity_bytes = kBlock + kPage * *rc::gen::inRange(0, 20);
  const int iterations = *rc::gen::inRange(1, 4);
  const std::int64_t fewest = OracleMovement(workload, capacity_bytes, iterations).pages_in;

  for (const Policy& policy :
       {Policy{}, Policy{.kind = Policy::Kind::kDriver}, Policy{.kind = Policy::Kind::kObject},
        Policy{.kind = Policy::Kind::kTensor},
        Policy{.kind = Policy::Kind::kTensor, .lookahead = 2}}) {
    const Outcome outcome = RunPolicy(workload, policy, capacity_bytes, iterations);
    RC_ASSERT(outcome.Moved().pages_in >= fewest);
    RC_ASSERT(outcome.total_ns == outcome.kernel_ns + outcome.StallNs());
  }
}

// (6)
RC_GTEST_PROP(UvmPropertyTest, MoreMemoryNeverCostsTheOraclePageIns, ()) {
  const Workload workload = AnyWorkload();
  std::int64_t pages_in = OracleMovement(workload, kPage, 2).pages_in;

  for (int pages = 2; pages < 40; ++pages) {
    const std::int64_t with_more = OracleMovement(workload, pages * kPage, 2).pages_in;
    RC_ASSERT(with_more <= pages_in);
    pages_in = with_more;
  }
}

// Belady's rule as it is told: one page after the other; what is needed last need not stay.
std::int64_t PageInsByTheBook(const std::vector<std::size_t>& uses, std::size_t capacity) {
  std::set<std::size_t> resident;
  std::int64_t pages_in = 0;
  for (auto use = uses.begin(); use != uses.end(); ++use) {
    pages_in += resident.insert(*use).second ? 1 : 0;
    if (resident.size() > capacity) {
      resident.erase(*std::ranges::max_element(
          resident, {}, [&](std::size_t page) { return std::find(use + 1, uses.end(), page); }));
    }
  }
  return pages_in;
}

RC_GTEST_PROP(UvmPropertyTest, OnSinglePagesTheOracleIsBeladys, ()) {
  const auto uses =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 8));
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 8);
  WorkloadBuilder builder = TestBuilder();
  for (int page = 0; page < 8; ++page) {
    AddAlone(builder, 1);
  }
  for (const std::size_t page : uses) {
    AddUse(builder, 1, page);
  }
  const Workload workload = builder.Finish();

  RC_ASSERT(OracleMovement(workload, static_cast<std::int64_t>(capacity) * kPage, 1).pages_in ==
            PageInsByTheBook(uses, capacity));
}

}  // namespace
}  // namespace orrery::memory::uvm
