
#include <cstdint>
#include <string_view>

#include <benchmark/benchmark.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/chrome_json.h"
#include "orrery/export/perfetto.h"
#include "orrery/trace/trace_set.h"
#include "orrery/trace/training_trace_test.h"

namespace orrery::exporting {
namespace {

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

trace::TraceSet MakeRun() {
  trace::TraceSet set;
  set.ranks.push_back(trace::TrainingTrace().Build(100'000));
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
