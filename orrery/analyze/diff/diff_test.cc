#include "orrery/analyze/diff/diff.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::diff {
namespace {

using test_run::Rank;

trace::TraceSet SetOf(trace::Trace rank) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(rank));
  return set;
}

RunDiff DiffOf(trace::TraceSet before, trace::TraceSet after) {
  const RunView first = ViewRun(before, {}, {});
  const RunView second = ViewRun(after, {}, {});
  return Compare(first, second, {});
}

const CostChange& Named(const std::vector<CostChange>& changes, std::string_view name) {
  for (const CostChange& change : changes) {
    if (change.name == name) {
      return change;
    }
  }
  static const CostChange kNone{.name = "not found"};
  return kNone;
}

// One step of `length` µs with `gemm` µs of work, launched by aten::mm inside aten::linear.
trace::Trace Training(std::int64_t length, std::int64_t gemm) {
  Rank rank(0);
  rank.Step(0, {0, length}).Operator("aten::linear", {0, 20}).Operator("aten::mm", {5, 15});
  rank.Kernel("sgemm", {20, 20 + gemm}, 7, rank.Call({6, 8}));
  return rank.Finish();
}

TEST(MatchCostsTest, NamesOfOneRunAreAddedOrDeleted) {
  const auto changes = MatchCosts({{.name = "old", .cost = {.count = 1, .device_ns = 30}},
                                   {.name = "same", .cost = {.count = 1, .device_ns = 1000}}},
                                  {{.name = "new", .cost = {.count = 1, .device_ns = 50}},
                                   {.name = "same", .cost = {.count = 1, .device_ns = 1010}}});
  ASSERT_EQ(changes.size(), 3);
  EXPECT_EQ(changes[0].name, "new") << "50, then 30, then 10 of difference";
  EXPECT_EQ(changes[0].change, Change::kAdded);
  EXPECT_EQ(changes[1].change, Change::kDeleted);
  EXPECT_EQ(changes[1].DifferenceNs(), -30.0);
  EXPECT_EQ(changes[2].change, Change::kUnchanged) << "1 % is no change";
}

TEST(MatchCostsTest, WithoutDeviceTimeTheHostDecidesAndWithoutAnyTimeTheCount) {
  const auto changes = MatchCosts({{.name = "host", .cost = {.count = 1, .host_ns = 100}},
                                   {.name = "count", .cost = {.count = 1}}},
                                  {{.name = "host", .cost = {.count = 1, .host_ns = 50}},
                                   {.name = "count", .cost = {.count = 2}}});
  EXPECT_EQ(Named(changes, "host").change, Change::kDecreased);
  EXPECT_EQ(Named(changes, "host").DifferenceNs(), -50.0);
  EXPECT_EQ(Named(changes, "count").change, Change::kIncreased);
}

// The kernel takes 60 instead of 40 µs. aten::linear lasts 20 µs of which aten::mm has 10; the
// kernel belongs to aten::mm alone.
TEST(DiffTest, KernelsAndTheOperatorsThatLaunchedThem) {
  const RunDiff diff = DiffOf(SetOf(Training(100, 40)), SetOf(Training(120, 60)));
  const CostChange& kernel = Named(diff.kernels, "sgemm");
  EXPECT_EQ(kernel.change, Change::kIncreased);
  EXPECT_EQ(kernel.DifferenceNs(), 20'000.0);
  EXPECT_EQ(kernel.kernel_class, "gemm");
  EXPECT_EQ(Named(diff.kernel_classes, "gemm").DifferenceNs(), 20'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::mm").DifferenceNs(), 20'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::mm").before.host_ns, 10'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::linear").before.host_ns, 10'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::linear").change, Change::kUnchanged);
  EXPECT_EQ(diff.step_before.step_ns, 100'000.0);
  EXPECT_EQ(diff.step_after.compute_ns - diff.step_before.compute_ns, 20'000.0);
}

TEST(DiffTest, ARunAgainstItselfDoesNotChange) {
  const RunDiff diff = DiffOf(SetOf(Training(100, 40)), SetOf(Training(100, 40)));
  for (const auto* const list : {&diff.kernels, &diff.operators, &diff.kernel_classes}) {
    ASSERT_FALSE(list->empty());
    for (const CostChange& change : *list) {
      EXPECT_EQ(change.change, Change::kUnchanged) << change.name;
      EXPECT_EQ(change.before, change.after);
    }
  }
}

// Four steps of 10 µs of work against three with the same work: the first and the last step are
// left out, so 2 and 1 steps count, and a step costs the same.
TEST(DiffTest, CostsArePerStep) {
  const auto steps = [](std::int64_t count) {
    Rank rank(0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = i * 100;
      rank.Step(i, {at, at + 100}).Operator("aten::mm", {at, at + 9});
      rank.Kernel("sgemm", {at + 10, at + 20}, 7, rank.Call({at + 1, at + 2}));
    }
    return rank.Finish();
  };
  const RunDiff diff = DiffOf(SetOf(steps(4)), SetOf(steps(3)));
  EXPECT_EQ(diff.step_before.num_steps, 2);
  EXPECT_EQ(Named(diff.kernels, "sgemm").before.count, 1.0);
  EXPECT_EQ(Named(diff.kernels, "sgemm").after.device_ns, 10'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::mm").before.host_ns, 9'000.0);
  EXPECT_EQ(Named(diff.operators, "aten::mm").change, Change::kUnchanged);
}

// Both ranks take 10 µs; in the second run rank 1 comes 30 µs late, and rank 0 waits for it. The
// means over the two devices: 10 µs before; (40 + 10)/2 with 30/2 of waiting after.
TEST(DiffTest, WaitingIsAPartOfACollective) {
  const auto run = [](std::int64_t late) {
    trace::TraceSet set;
    for (std::int32_t number = 0; number < 2; ++number) {
      Rank rank(number);
      const RowId group = rank.Group("0", "[0, 1]", 2);
      const std::int64_t begin = number == 0 ? 100 : 100 + late;
      rank.Kernel("sgemm", {0, 100});
      rank.Collective({.kind = CollectiveKind::kAllReduce,
                       .span = {begin, 110 + late},
                       .group = group,
                       .bytes = 4'000,
                       .sequence = 1});
      set.ranks.push_back(rank.Finish());
    }
    return set;
  };
  const RunDiff diff = DiffOf(run(0), run(30));
  const CostChange& all_reduce = Named(diff.collectives, "all_reduce");
  EXPECT_EQ(all_reduce.before, (Cost{.count = 1, .device_ns = 10'000, .bytes = 4'000}));
  EXPECT_EQ(all_reduce.after,
            (Cost{.count = 1, .device_ns = 25'000, .wait_ns = 15'000, .bytes = 4'000}));
  EXPECT_EQ(all_reduce.change, Change::kIncreased);
}

TEST(DiffTest, CopiesByKind) {
  const auto run = [](std::int64_t bytes) {
    Rank rank(0);
    rank.Copy("Memcpy HtoD", {0, 10}, bytes);
    rank.trace().activities.copy_kind[0] = trace::CopyKind::kHostToDevice;
    return SetOf(rank.Finish());
  };
  const RunDiff diff = DiffOf(run(100), run(300));
  EXPECT_EQ(Named(diff.copies, "HtoD").after.bytes, 300.0);
  EXPECT_EQ(Named(diff.copies, "HtoD").change, Change::kUnchanged) << "the time is the same";
}

// The largest total counts, not the last; what was not recorded (-1) is left out.
TEST(DiffTest, MemoryIsComparedByItsPeak) {
  const auto run = [](const std::vector<std::int64_t>& totals) {
    Rank rank(0);
    rank.Kernel("sgemm", {0, 10});
    for (const std::int64_t total : totals) {
      rank.trace().memory_events.Append({.begin_ns = 0,
                                         .bytes = 1,
                                         .device_kind = trace::DeviceKind::kGpu,
                                         .total_allocated_bytes = total});
    }
    return SetOf(rank.Finish());
  };
  const RunDiff diff = DiffOf(run({100, 500, 200}), run({600, 100}));
  ASSERT_EQ(diff.memory.size(), 1);
  EXPECT_EQ(diff.memory[0].name, "gpu allocated");
  EXPECT_EQ(diff.memory[0].before_bytes, 500);
  EXPECT_EQ(diff.memory[0].after_bytes, 600);
  EXPECT_EQ(diff.memory[0].change, Change::kIncreased);
  EXPECT_EQ(DiffOf(run({}), run({600})).memory[0].before_bytes, std::nullopt);
}

}  // namespace
}  // namespace orrery::analyze::diff
