#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "orrery/base/columns.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/heat/heat.h"
#include "orrery/memory/kernel_counts.h"
#include "orrery/memory/recording_test.h"
#include "orrery/memory/working_set.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

// Measures the memory tools on one core. As in a training step, each launch touches twenty of a
// thousand tensors. Items are touches, or launches for kernel-frequency.

namespace orrery::memory {
namespace {

using trace::MemoryClass;

constexpr int kLaunches = 50'000;
constexpr std::uint64_t kTouches = 20;
constexpr std::uint64_t kTensors = 1'000;
constexpr std::int64_t kTensorBytes = 3 << 20;
constexpr std::uint64_t kTensorsOfSegment = 50;
constexpr std::uint64_t kSegmentBytes = kTensorsOfSegment * kTensorBytes;

/// The special properties of a trace.
struct Kind {
  bool has_pages = false;
  bool has_births = false;  // each launch allocates a new tensor
  std::int64_t lanes = 250'000;
};

RowId Tensor(TestRecording& recording, std::uint64_t number, RowId first_segment) {
  return recording.Born((std::uint64_t{1} << 40) + number * kTensorBytes, kTensorBytes,
                        MemoryClass::kTensor,
                        first_segment + static_cast<RowId>(number / kTensorsOfSegment));
}

trace::Trace TraceOf(const Kind& kind) {
  TestRecording recording;
  std::vector<RowId> tensors;
  for (std::uint64_t i = 0; i < kTensors / kTensorsOfSegment; ++i) {
    recording.Born((std::uint64_t{1} << 40) + i * kSegmentBytes,
                   static_cast<std::int64_t>(kSegmentBytes), MemoryClass::kSegment);
  }
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    tensors.push_back(Tensor(recording, i, 0));
  }
  const std::vector<std::string> names{"gemm<1>", "gemm<2>", "add", "layer_norm", "softmax<float>"};
  for (std::uint64_t launch = 0; launch < kLaunches; ++launch) {
    if (kind.has_births) {
      const std::uint64_t again = launch * 31 % kTensors;
      recording.Died(tensors[again]);
      tensors[again] = Tensor(recording, again, 0);
    }
    const RowId activity = recording.Launched(names[launch % names.size()]);
    for (std::uint64_t i = 0; i < kTouches; ++i) {
      const RowId object = tensors[(launch * 7 + i * 13) % kTensors];
      recording.Touched(activity, object, 4 * kind.lanes, 0);
      if (kind.has_pages) {
        recording.trace.page_runs.Append({.activity = activity,
                                          .object = object,
                                          .address = recording.trace.memory_objects.address[object],
                                          .num_pages = kTensorBytes >> 16,
                                          .page_bytes = 1 << 16,
                                          .accesses = kind.lanes / (kTensorBytes >> 16)});
      }
    }
  }
  return std::move(recording.trace);
}

void SetItems(benchmark::State& state, std::int64_t items) {
  state.SetItemsProcessed(state.iterations() * items);
  // As many seconds for a billion are as many nanoseconds for one.
  state.counters["a_billion"] = benchmark::Counter(
      static_cast<double>(items) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

constexpr std::int64_t kAllTouches = kLaunches * static_cast<std::int64_t>(kTouches);

void CountWorkingSet(benchmark::State& state, const Kind& kind) {
  const trace::Trace trace = TraceOf(kind);
  for (auto _ : state) {
    WorkingSet working_set;
    working_set.Add(trace);
    benchmark::DoNotOptimize(working_set.Summary());
    benchmark::DoNotOptimize(working_set.ByKernel());
    benchmark::DoNotOptimize(working_set.ByOperator());
  }
  SetItems(state, kAllTouches);
}

// In pieces the same launches come again: the map is made once, however long the recording is.
void CountHeat(benchmark::State& state, const Kind& kind, int num_pieces) {
  const trace::Trace trace = TraceOf(kind);
  for (auto _ : state) {
    HeatCounter counter({});
    for (int i = 0; i < num_pieces; ++i) {
      benchmark::DoNotOptimize(counter.Add(trace));
    }
    benchmark::DoNotOptimize(counter.Finish());
  }
  SetItems(state, num_pieces * kAllTouches);
}

void CountLaunches(benchmark::State& state) {
  const trace::Trace trace = TraceOf({});
  for (auto _ : state) {
    KernelCounter counter;
    counter.Add(trace);
    benchmark::DoNotOptimize(counter.Count());
    RecordedParts parts;
    parts.Add(trace);
    benchmark::DoNotOptimize(parts.coverage());
  }
  SetItems(state, kLaunches);
}

BENCHMARK(CountLaunches)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountWorkingSet, same_tensors, Kind{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountWorkingSet, a_birth_a_launch, Kind{.has_births = true})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountWorkingSet, pages, Kind{.has_pages = true})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, same_tensors, Kind{}, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, same_tensors_20_pieces, Kind{}, 20)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, a_birth_a_launch, Kind{.has_births = true}, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, pages, Kind{.has_pages = true}, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, pages_20_pieces, Kind{.has_pages = true}, 20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CountHeat, three_trillion_accesses, Kind{.lanes = 3'000'000}, 1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::memory
