#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "orrery/export/chrome_json.h"
#include "orrery/export/perfetto.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

constexpr std::int64_t kNumKernels = 100'000;

// Counts and forgets, so that only the writer is measured.
class CountingSink : public ByteSink {
 public:
  Status Write(std::string_view bytes) override {
    num_bytes += static_cast<std::int64_t>(bytes.size());
    return {};
  }

  Status Close() override { return {}; }

  std::int64_t num_bytes = 0;
};

// An operator, a launch and a kernel every 10 us, as in a training step.
trace::TraceSet MakeRun() {
  trace::TraceSet set;
  trace::Trace& trace = set.ranks.emplace_back();
  const StringId op = trace.strings.Intern("aten::mm");
  const StringId call = trace.strings.Intern("cudaLaunchKernel");
  const StringId kernel = trace.strings.Intern("void gemm_kernel<" + std::string(200, 'x') + ">");
  const StringId dims = trace.strings.Intern("[[4096, 1024], [1024, 4096]]");
  const RowId host = trace.tracks.Append({.process = 538, .thread = 538});
  const RowId stream = trace.tracks.Append(
      {.kind = trace::TrackKind::kDevice, .process = 0, .thread = 7, .device = 0});
  const RowId shape = trace.launch_shapes.Append({.grid_x = 16,
                                                  .grid_y = 1,
                                                  .grid_z = 1,
                                                  .block_x = 256,
                                                  .block_y = 1,
                                                  .block_z = 1,
                                                  .registers_per_thread = 32});
  for (std::int64_t i = 0; i < kNumKernels; ++i) {
    const std::int64_t at_ns = i * 10'000;
    trace.host_ops.Append({.begin_ns = at_ns,
                           .duration_ns = 8'000,
                           .name = op,
                           .track = host,
                           .external_id = i,
                           .input_dims = dims});
    const RowId launch = trace.runtime_calls.Append({.begin_ns = at_ns + 1'000,
                                                     .duration_ns = 4'000,
                                                     .name = call,
                                                     .track = host,
                                                     .correlation = i,
                                                     .external_id = i});
    trace.activities.Append({.begin_ns = at_ns + 6'000,
                             .duration_ns = 9'000,
                             .name = kernel,
                             .track = stream,
                             .correlation = i,
                             .external_id = i,
                             .shape = shape,
                             .launch = launch});
  }
  return set;
}

void BM_WriteChromeJson(benchmark::State& state) {
  const trace::TraceSet set = MakeRun();
  CountingSink sink;
  for (auto _ : state) {
    benchmark::DoNotOptimize(WriteChromeJson(set, {}, sink));
  }
  state.SetBytesProcessed(sink.num_bytes);
}

BENCHMARK(BM_WriteChromeJson)->Unit(benchmark::kMillisecond);

void BM_WritePerfetto(benchmark::State& state) {
  const trace::TraceSet set = MakeRun();
  CountingSink sink;
  for (auto _ : state) {
    benchmark::DoNotOptimize(WritePerfetto(set, {}, sink));
  }
  state.SetBytesProcessed(sink.num_bytes);
}

BENCHMARK(BM_WritePerfetto)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::exporting
