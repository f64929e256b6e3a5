#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include <benchmark/benchmark.h>

#include "orrery/trace/orr/orr.h"

namespace orrery::trace {
namespace {

// Kineto JSON needs about this much for a row, all categories together.
constexpr double kJsonBytesPerRow = 400;

// Rows with the habits of a training step: rising times and ids, names and shapes that repeat from
// layer to layer, durations that vary around the usual one of their name, and a text of its own for
// every fourth operator.
class TrainingTrace {
 public:
  Trace Build(std::int64_t num_ops) {
    for (int i = 0; i < 4000; ++i) {
      trace_.strings.Intern("aten::operator_number_" + std::to_string(i));
    }
    for (std::int64_t i = 0; i < 8; ++i) {
      trace_.tracks.Append({.thread = i});
    }
    for (std::int32_t i = 0; i < 500; ++i) {
      trace_.launch_shapes.Append({.grid_x = i * 37, .block_x = 128});
    }
    for (std::int64_t i = 0; i < num_ops; ++i) {
      AddOperator(i);
    }
    return std::move(trace_);
  }

 private:
  void AddOperator(std::int64_t index) {
    // A layer has 900 operators; their arguments are the same in every layer.
    const auto kind = static_cast<std::uint32_t>(index % 900);
    now_ns_ += 2000 + Below(3000);
    const RowId parent = last_top_ == kNoRow || index % 3 == 0 ? kNoRow : last_top_;
    const RowId op =
        trace_.host_ops.Append({.begin_ns = now_ns_,
                                .duration_ns = 5000 + kind * 17 + Below(2000),
                                .name = Name(kind),
                                .track = index % 900 < 600 ? 0U : 1U,
                                .external_id = index + 1,
                                .record_function_id = index + 1,
                                .event_index = index,
                                .sequence = index % 4 == 0 ? index / 4 : -1,
                                .forward_thread = index % 900 < 600 ? 0 : 1,
                                .input_dims = Name(900 + kind),
                                .input_types = Name(1800 + kind % 50),
                                .concrete_inputs = Name(1900 + kind),
                                .extra = index % 4 == 0 ? UniqueText(index) : StringId::kEmpty,
                                .parent = parent});
    last_top_ = parent == kNoRow ? op : last_top_;
    if (index % 4 != 3) {
      AddLaunch(index, kind, op);
    }
  }

  void AddLaunch(std::int64_t index, std::uint32_t kind, RowId op) {
    const RowId call = trace_.runtime_calls.Append({.begin_ns = now_ns_ + 1500,
                                                    .duration_ns = 3000 + Below(1500),
                                                    .name = Name(3000 + kind % 4),
                                                    .track = 0,
                                                    .correlation = 2 * index + 7,
                                                    .external_id = index + 1,
                                                    .callback_id = 211,
                                                    .host_op = op});
    device_ns_ = std::max(device_ns_ + 900 + Below(200), now_ns_ + 6000);
    const std::int64_t duration_ns = 4000 + (kind * kind) % 90'000 + Below(800);
    trace_.activities.Append({.begin_ns = device_ns_,
                              .duration_ns = duration_ns,
                              .name = Name(3100 + kind % 300),
                              .track = 2,
                              .correlation = 2 * index + 7,
                              .external_id = index + 1,
                              .shape = kind % 500,
                              .launch = call,
                              .host_op = op});
    device_ns_ += duration_ns;
  }

  StringId UniqueText(std::int64_t index) {
    return trace_.strings.Intern(
        "\"Stack\": \"module.py(" + std::to_string(index * 7919) +
        ") forward; layers.py(77) __call__\", \"Seed\": " + std::to_string(random_()));
  }

  static StringId Name(std::uint32_t number) { return static_cast<StringId>(1 + number % 4000); }

  std::int64_t Below(std::uint64_t limit) { return static_cast<std::int64_t>(random_() % limit); }

  Trace trace_;
  std::mt19937_64 random_{1};
  std::int64_t now_ns_ = 1'700'000'000'000'000'000;
  std::int64_t device_ns_ = 0;
  RowId last_top_ = kNoRow;
};

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
