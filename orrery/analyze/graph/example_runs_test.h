#pragma once

#include <utility>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/trace_set.h"

/// The worked examples of critical-path-and-waits.md as runs. Times in µs.
namespace orrery::analyze::example_runs {

/// A run with its view; the view points into the run.
struct Example {
  explicit Example(trace::TraceSet run) : set(std::move(run)), view(ViewRun(set, {}, {})) {}

  trace::TraceSet set;
  RunView view;
};

struct RankOfF {
  test_run::Span ar_launch;
  test_run::Span k2_launch;
  test_run::Span k1;
  test_run::Span ar;
};

/// One rank of example F: K1 on stream 7, the all-reduce on stream 20 after K1, K2 after that.
inline test_run::Rank MakeRankOfF(std::int32_t number, const RankOfF& times) {
  test_run::Rank rank(number);
  const RowId group = rank.Group("0", "[0, 1]", 2);
  rank.Kernel("K1", times.k1, 7, rank.Call({0, 5}));
  // Records and waits take no time of their own.
  const auto at = [](test_run::Span span) { return test_run::Span{span.begin, span.begin}; };
  const std::int64_t k1_done = rank.Call(at(times.ar_launch), "cudaEventRecord");
  rank.StreamWaitsForEvent(rank.Call(at(times.ar_launch), "cudaStreamWaitEvent"), 20, k1_done, 7,
                           times.ar_launch.begin);
  rank.Collective({.span = times.ar,
                   .group = group,
                   .bytes = 1 << 20,
                   .sequence = 1,
                   .correlation = rank.Call(times.ar_launch)});
  const std::int64_t ar_done = rank.Call(at(times.k2_launch), "cudaEventRecord");
  rank.StreamWaitsForEvent(rank.Call(at(times.k2_launch), "cudaStreamWaitEvent"), 7, ar_done, 20,
                           times.k2_launch.begin);
  rank.Kernel("K2", {152, 182}, 7, rank.Call(times.k2_launch));
  return rank;
}

inline Example MakeF() {
  trace::TraceSet set;
  set.ranks.push_back(
      MakeRankOfF(0, {.ar_launch = {5, 10}, .k2_launch = {10, 15}, .k1 = {8, 58}, .ar = {60, 150}})
          .Finish());
  test_run::Rank late = MakeRankOfF(
      1, {.ar_launch = {85, 90}, .k2_launch = {90, 95}, .k1 = {8, 48}, .ar = {93, 150}});
  late.Operator("data", {5, 85});
  set.ranks.push_back(late.Finish());
  return Example(std::move(set));
}

inline Example MakeG() {
  test_run::Rank rank(0);
  rank.Kernel("K1", {6, 36}, 7, rank.Call({0, 4}));
  rank.Call({4, 40}, "cudaDeviceSynchronize");
  rank.Operator("prepare", {40, 60});
  rank.Kernel("K2", {66, 96}, 7, rank.Call({60, 64}));
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return Example(std::move(set));
}

inline Example MakeH() {
  test_run::Rank rank(0);
  rank.Operator("model", {0, 11});
  rank.Kernel("K1", {10, 50}, 7, rank.Call({2, 3}));
  const std::int64_t k1_done = rank.Call({3, 4}, "cudaEventRecord");
  rank.Kernel("K2", {12, 30}, 20, rank.Call({4, 5}));
  rank.StreamWaitsForEvent(rank.Call({6, 7}, "cudaStreamWaitEvent"), 20, k1_done, 7, 6);
  rank.Kernel("K3", {51, 71}, 20, rank.Call({8, 9}));
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return Example(std::move(set));
}

/// Example C: three ranks leave c1 at 100; the host of rank 2 launches late.
inline Example MakeC() {
  constexpr std::int64_t kLaunchAt[] = {98, 98, 123};
  constexpr test_run::Span kCompute[] = {{100, 140}, {100, 141}, {125, 165}};
  constexpr std::int64_t kArrival[] = {142, 143, 167};
  trace::TraceSet set;
  for (std::int32_t number = 0; number < 3; ++number) {
    test_run::Rank rank(number);
    const RowId group = rank.Group("0", "[0, 1, 2]", 3);
    const std::int64_t launch = kLaunchAt[number];
    const auto collective = [&](test_run::Span span, std::int64_t sequence, std::int64_t call) {
      rank.Collective({.span = span,
                       .group = group,
                       .bytes = 1 << 20,
                       .sequence = sequence,
                       .stream = 7,
                       .correlation = call});
    };
    collective({90, 100}, 1, rank.Call({0, 1}));
    rank.Kernel("K", kCompute[number], 7, rank.Call({launch, launch + 1}));
    collective({kArrival[number], 177}, 2, rank.Call({launch + 1, launch + 2}));
    set.ranks.push_back(rank.Finish());
  }
  return Example(std::move(set));
}

}  // namespace orrery::analyze::example_runs
