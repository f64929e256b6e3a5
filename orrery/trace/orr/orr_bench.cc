#include <cstdio>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/trace/training_trace_test.h"

namespace orrery::trace {
namespace {

// Kineto JSON needs about this much for a row, all categories together.
constexpr double kJsonBytesPerRow = 400;

// 2.5 million rows: what a gigabyte of Kineto JSON holds.
const TraceSet& Set() {
  static const TraceSet set = [] {
    TraceSet built;
    built.ranks.push_back(TrainingTrace().Build(1'000'000));
    return built;
  }();
  return set;
}

struct Sizes {
  double column_bytes = 0;
  double string_bytes = 0;
  double rows = 0;
};

Sizes SizesOf(const TraceSet& set) {
  Sizes sizes;
  for (const Trace& trace : set.ranks) {
    for (std::size_t id = 0; id < trace.strings.size(); ++id) {
      sizes.string_bytes += static_cast<double>(trace.strings.View(StringId(id)).size());
    }
    ForEachTable(trace, [&](const char*, const auto& table) {
      sizes.rows += static_cast<double>(table.size());
      ForEachColumn(table, [&]<typename T>(const char*, const std::vector<T>& column) {
        sizes.column_bytes += static_cast<double>(column.size() * sizeof(T));
      });
    });
  }
  return sizes;
}

void Report(benchmark::State& state, const std::string& path) {
  using benchmark::Counter;
  const Sizes sizes = SizesOf(Set());
  const auto rate = [&](double bytes) {
    return Counter(bytes / 1e6, Counter::kIsIterationInvariantRate);
  };
  state.counters["columns_MB_per_s"] = rate(sizes.column_bytes);
  state.counters["json_MB_per_s"] = rate(sizes.rows * kJsonBytesPerRow);
  state.counters["columns_MB"] = sizes.column_bytes / 1e6;
  state.counters["strings_MB"] = sizes.string_bytes / 1e6;
  state.counters["file_MB"] = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
}

class ScratchFile {
 public:
  ScratchFile() : path_(std::filesystem::temp_directory_path() / "orrery_orr_bench.orr") {}

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  ~ScratchFile() { std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void BM_Write(benchmark::State& state) {
  const ScratchFile file;
  const TraceSet& set = Set();
  for (auto _ : state) {
    if (!WriteOrr(set, file.path(), {.threads = static_cast<int>(state.range(0))})) {
      state.SkipWithError("WriteOrr");
      return;
    }
  }
  Report(state, file.path());
}

void BM_Read(benchmark::State& state) {
  const ScratchFile file;
  if (!WriteOrr(Set(), file.path())) {
    state.SkipWithError("WriteOrr");
    return;
  }
  for (auto _ : state) {
    auto set = ReadOrr(file.path(), {.threads = static_cast<int>(state.range(0))});
    benchmark::DoNotOptimize(set);
    // Giving the memory back is not reading.
    state.PauseTiming();
    set = Fail(Error::Kind::kNotFound, "");
    state.ResumeTiming();
  }
  Report(state, file.path());
}

BENCHMARK(BM_Write)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Read)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery::trace
