#include "bench/kineto_writer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/output_file.h"
#include "bench/random_bits.h"
#include "bench/training_step.h"

namespace orrery::bench {
namespace {

/// When a generated trace begins, counted from its base time.
constexpr std::int64_t kTraceBeginNs = 3'845'883'906'067'107;

/// Where one repetition of the step lies, and how much it is stretched.
struct Repetition {
  std::int64_t number = 0;
  std::int64_t origin_ns = 0;
  std::int64_t scale = 0;  // in units of 2^-20

  // Monotonic, so that what nests in the step nests in every repetition.
  [[nodiscard]] std::int64_t At(std::int64_t step_ns) const {
    return origin_ns + ((step_ns * scale) >> 20);
  }
};

// Returns where the repetitions of a step lie, one after the other.
std::vector<Repetition> Repetitions(std::int64_t step_duration_ns, int num_steps,
                                    std::uint64_t seed) {
  std::vector<Repetition> all;
  std::int64_t origin_ns = kTraceBeginNs;
  for (std::int64_t number = 0; number < num_steps; ++number) {
    const std::uint64_t bits = MixBits(seed + static_cast<std::uint64_t>(number) + 1);
    const std::int64_t scale = (1 << 20) + static_cast<std::int64_t>(bits % 65'536);
    all.push_back({number, origin_ns, scale});
    origin_ns = all.back().At(step_duration_ns);
  }
  return all;
}

enum Category : std::size_t {
  kOp,
  kAnnotation,
  kPython,
  kMemory,
  kRuntime,
  kDriver,
  kKernel,
  kCopy,
  kSet,
  kDeviceAnnotation,
  kLaunchArrow,
  kForwardBackwardArrow,
  kOther,
  kNumCategories,
};

constexpr auto kCategoryNames = std::to_array<std::string_view>(
    {"cpu_op", "user_annotation", "python_function", "cpu_instant_event", "cuda_runtime",
     "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "ac2g", "fwdbwd",
     "other"});
static_assert(kCategoryNames.size() == kNumCategories);

constexpr std::int64_t kFirstCorrelation = 28'000;
constexpr std::int64_t kFirstSequence = 30'000;

Category CategoryOf(WorkKind kind) {
  switch (kind) {
    case WorkKind::kCopy:
      return kCopy;
    case WorkKind::kSet:
      return kSet;
    case WorkKind::kKernel:
      break;
  }
  return kKernel;
}

// Writes what precedes the events: devices, process groups, profiler settings.
void WriteKinetoFrame(const KinetoFileOptions& options, TextWriter& out) {
  out.Text("\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n");
  for (int device = 0; device < 8; ++device) {
    out.Text(fmt::format(
        "    {{\n      \"id\": {}, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": "
        "150109880320,\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      "
        "\"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      "
        "\"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, "
        "\"numSms\": 132\n    }}{}\n",
        device, device < 7 ? "," : ""));
  }
  out.Text(fmt::format(
      "    ],\n      \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": "
      "{}, \"pg_count\": 1, \"pg_config\": [{{\"pg_name\": \"1\", \"pg_desc\": "
      "\"tensor_parallel\", \"backend_config\": \"cuda:nccl\", \"pg_size\": 8, \"ranks\": {}}}], "
      "\"nccl_version\": \"2.27.3\"}},\n",
      options.rank, options.world_size, RanksOfGroup(options.rank)));
  out.Text(
      "      \"record_shapes\": 1,\n      \"profile_memory\": 1,\n      \"with_stack\": 1,\n     "
      " "
      "\"cuda_driver_version\": 13000,\n      \"cuda_runtime_version\": 13000,\n      "
      "\"cupti_version\": 130001,\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
      "1790857026000000000,\n  \"traceEvents\": [\n");
}

class KinetoWriter {
 public:
  KinetoWriter(const TrainingStep& step, const KinetoFileOptions& options, TextWriter& out)
      : step_(step),
        options_(options),
        out_(out),
        repetitions_(Repetitions(step.duration_ns, options.num_steps, options.seed)),
        process_(538 + options.rank) {}

  KinetoStatistics Write() {
    WriteKinetoFrame(options_, out_);
    WriteOps(Thread::kAutograd);
    WriteOps(Thread::kMain);
    WriteMemory();
    WritePython();
    WriteCalls();
    WriteDeviceRanges();
    WriteNames();
    out_.Text(fmt::format("\n  ],\n  \"traceName\": \"rank{}.json\"\n}}", options_.rank));
    return Statistics();
  }

 private:
  [[nodiscard]] std::int64_t ThreadId(Thread thread) const {
    return thread == Thread::kMain ? process_ : process_ + 60;
  }

  [[nodiscard]] std::int64_t ExternalId(const Repetition& repetition, std::int64_t op) const {
    return repetition.number * static_cast<std::int64_t>(step_.ops.size()) + op + 1;
  }

  void BeginRow(Category category) {
    out_.Text(rows_ == 0 ? "  {\n" : ",\n  {\n");
    ++rows_;
    ++count_[category];
  }

  void WriteSlice(Category category, std::string_view name, std::int64_t pid, std::int64_t tid) {
    BeginRow(category);
    out_.Put("    \"ph\": \"X\", \"cat\": \"", kCategoryNames[category], "\", \"name\": \"", name);
    WriteThread(pid, tid);
  }

  void WriteThread(std::int64_t pid, std::int64_t tid) {
    out_.Put("\", \"pid\": ", pid, ", \"tid\": ", tid);
  }

  void WriteTimes(std::int64_t begin_ns, std::int64_t end_ns) {
    out_.Put(",\n    \"ts\": ", Micros{begin_ns}, ", \"dur\": ", Micros{end_ns - begin_ns},
             ",\n    \"args\": {\n      ");
  }

  void EndSlice() { out_.Text("\n    }\n  }"); }

  void WriteArrow(bool is_end, Category category, std::int64_t id, std::int64_t pid,
                  std::int64_t tid, std::int64_t at_ns) {
    BeginRow(category);
    out_.Put(is_end ? "    \"ph\": \"f\", \"id\": " : "    \"ph\": \"s\", \"id\": ", id,
             ", \"pid\": ", pid, ", \"tid\": ", tid, ", \"ts\": ", Micros{at_ns},
             category == kLaunchArrow ? ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\""
                                      : ",\n    \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"",
             is_end ? ", \"bp\": \"e\"\n  }" : "\n  }");
  }

  void WriteEventIndex() { out_.Put("\"Ev Idx\": ", event_index_++); }

  void WriteOps(Thread thread) {
    for (const Repetition& repetition : repetitions_) {
      for (std::size_t index = 0; index < step_.ops.size(); ++index) {
        if (step_.ops[index].thread == thread) {
          WriteOp(repetition, index);
        }
      }
    }
  }

  void WriteOp(const Repetition& repetition, std::size_t index) {
    const HostOp& op = step_.ops[index];
    WriteSlice(op.is_annotation ? kAnnotation : kOp, OpName(repetition, op), process_,
               ThreadId(op.thread));
    WriteTimes(repetition.At(op.begin_ns), repetition.At(op.end_ns));
    out_.Put("\"External id\": ", ExternalId(repetition, static_cast<std::int64_t>(index)),
             ",\"Record function id\": 0, ");
    if (op.sequence >= 0) {
      out_.Put("\"Sequence number\": ", kFirstSequence + ArrowId(repetition, op),
               ", \"Fwd thread id\": ", op.arrow == ArrowEnd::kForward ? 0 : 1, ", ");
    }
    out_.Text(op.arguments);
    WriteEventIndex();
    EndSlice();
    if (op.arrow != ArrowEnd::kNone) {
      WriteArrow(op.arrow == ArrowEnd::kBackward, kForwardBackwardArrow, ArrowId(repetition, op),
                 process_, ThreadId(op.thread), repetition.At(op.begin_ns));
    }
  }

  std::string_view OpName(const Repetition& repetition, const HostOp& op) {
    if (op.name != "ProfilerStep#") {
      return op.name;
    }
    step_name_ = fmt::format("{}{}", op.name, repetition.number + 3);
    return step_name_;
  }

  [[nodiscard]] std::int64_t ArrowId(const Repetition& repetition, const HostOp& op) const {
    return repetition.number * step_.num_sequences + op.sequence + 1;
  }

  void WriteMemory() {
    for (const Repetition& repetition : repetitions_) {
      for (const MemoryEvent& event : step_.memory) {
        WriteMemoryEvent(repetition, event);
      }
    }
  }

  void WriteMemoryEvent(const Repetition& repetition, const MemoryEvent& event) {
    BeginRow(kMemory);
    out_.Text(
        "    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]");
    WriteThread(process_, ThreadId(event.thread));
    out_.Put(",\n    \"ts\": ", Micros{repetition.At(event.at_ns)},
             ",\n    \"args\": {\n      \"Total Reserved\": 85899345920, \"Total Allocated\": ",
             event.allocated_after, ", \"Bytes\": ", event.bytes, ", \"Addr\": ", event.address,
             ", \"Device Id\": ", options_.rank % 8, ", \"Device Type\": 1, ");
    WriteEventIndex();
    EndSlice();
  }

  void WritePython() {
    for (const Repetition& repetition : repetitions_) {
      const std::int64_t first_id =
          repetition.number * static_cast<std::int64_t>(step_.python.size()) + 1;
      for (std::size_t index = 0; index < step_.python.size(); ++index) {
        WritePythonCall(repetition, first_id, static_cast<std::int64_t>(index));
      }
    }
  }

  void WritePythonCall(const Repetition& repetition, std::int64_t first_id, std::int64_t index) {
    const PythonCall& call = step_.python[static_cast<std::size_t>(index)];
    WriteSlice(kPython, call.name, process_, process_);
    WriteTimes(repetition.At(call.begin_ns), repetition.At(call.end_ns));
    if (call.module_id >= 0) {
      out_.Put("\"Python module id\": ", call.module_id, ", ");
    }
    out_.Text("\"Python parent id\": ");
    if (call.parent < 0) {
      out_.Text("null");
    } else {
      out_.Number(first_id + call.parent);
    }
    out_.Put(", \"Python id\": ", first_id + index, ", ");
    WriteEventIndex();
    EndSlice();
  }

  void WriteCalls() {
    for (const Repetition& repetition : repetitions_) {
      for (std::size_t index = 0; index < step_.calls.size(); ++index) {
        const std::int64_t correlation =
            kFirstCorrelation + repetition.number * static_cast<std::int64_t>(step_.calls.size()) +
            static_cast<std::int64_t>(index);
        const RuntimeCall& call = step_.calls[index];
        if (call.work) {
          WriteWork(repetition, call, correlation);
        }
        WriteCall(repetition, call, correlation);
      }
    }
  }

  void WriteWork(const Repetition& repetition, const RuntimeCall& call, std::int64_t correlation) {
    const DeviceWork& work = *call.work;
    const std::int64_t device = options_.rank % 8;
    const std::int64_t end_ns = repetition.At(work.end_ns);
    const std::int64_t begin_ns = repetition.At(work.begin_ns) + Lateness(work, correlation);
    WriteSlice(CategoryOf(work.kind), work.name, device, work.stream);
    WriteTimes(begin_ns, end_ns);
    out_.Put("\"External id\": ", ExternalId(repetition, call.op),
             work.kind == WorkKind::kKernel ? ",      \"queued\": 0, \"device\": "
                                            : ",      \"device\": ",
             device, ", \"context\": 1,      \"stream\": ", work.stream,
             ", \"correlation\": ", correlation, ",      ", work.arguments);
    EndSlice();
    WriteArrow(true, kLaunchArrow, correlation, device, work.stream, begin_ns);
  }

  // Ranks enter a collective one after the other and leave it together.
  [[nodiscard]] std::int64_t Lateness(const DeviceWork& work, std::int64_t correlation) const {
    if (!work.is_collective) {
      return 0;
    }
    const std::uint64_t key = options_.seed + static_cast<std::uint64_t>(correlation) * 1024 +
                              static_cast<std::uint64_t>(options_.rank);
    const auto half = static_cast<std::uint64_t>(work.end_ns - work.begin_ns) / 2;
    return static_cast<std::int64_t>(MixBits(key) % half);
  }

  void WriteCall(const Repetition& repetition, const RuntimeCall& call, std::int64_t correlation) {
    const std::int64_t tid = ThreadId(call.thread);
    const std::int64_t begin_ns = repetition.At(call.begin_ns);
    WriteSlice(call.is_driver ? kDriver : kRuntime, call.name, process_, tid);
    WriteTimes(begin_ns, repetition.At(call.end_ns));
    out_.Put("\"External id\": ", ExternalId(repetition, call.op),
             ",      \"cbid\": ", call.callback_id, ", \"correlation\": ", correlation);
    EndSlice();
    WriteArrow(!call.work, kLaunchArrow, correlation, process_, tid, begin_ns);
  }

  void WriteDeviceRanges() {
    for (const Repetition& repetition : repetitions_) {
      for (const DeviceRange& range : step_.device_ranges) {
        const HostOp& op = step_.ops[static_cast<std::size_t>(range.op)];
        WriteSlice(kDeviceAnnotation, OpName(repetition, op), options_.rank % 8, 7);
        WriteTimes(repetition.At(range.begin_ns), repetition.At(range.end_ns));
        out_.Put("\"External id\": ", ExternalId(repetition, range.op));
        EndSlice();
      }
    }
  }

  void WriteName(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
                 const std::string& value) {
    BeginRow(kOther);
    out_.Put(
        fmt::format("    \"name\": \"{}\", \"ph\": \"M\", \"ts\": ", what), Micros{kTraceBeginNs},
        fmt::format(", \"pid\": {}, \"tid\": {},\n    \"args\": {{\n      \"{}\": {}\n    }}\n  }}",
                    pid, tid, key, value));
  }

  void WriteProcessNames(std::int64_t pid, std::string_view label, std::int64_t sort_index) {
    WriteName("process_name", pid, 0, "name", "\"python3\"");
    WriteName("process_labels", pid, 0, "labels", fmt::format("\"{}\"", label));
    WriteName("process_sort_index", pid, 0, "sort_index", fmt::format("{}", sort_index));
  }

  void WriteNames() {
    WriteProcessNames(process_, "CPU", process_);
    for (std::int64_t device = 0; device < 8; ++device) {
      WriteProcessNames(device, fmt::format("GPU {}", device), 5'000'000 + device);
    }
    for (const int stream : {7, 20}) {
      WriteName("thread_name", options_.rank % 8, stream, "name",
                fmt::format("\"stream {} \"", stream));
    }
    for (const Thread thread : {Thread::kMain, Thread::kAutograd}) {
      WriteName("thread_name", process_, ThreadId(thread), "name",
                fmt::format("\"thread {} (python3)\"", ThreadId(thread)));
    }
    WriteWindow();
  }

  void WriteWindow() {
    const std::int64_t end_ns = repetitions_.back().At(step_.duration_ns);
    BeginRow(kOther);
    out_.Put("    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ", Micros{kTraceBeginNs - 1000},
             ", \"dur\": ", Micros{end_ns - kTraceBeginNs + 2000},
             ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch "
             "Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0\n    }\n  }");
    BeginRow(kOther);
    out_.Put(
        "    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", "
        "\"tid\": \"\", \"ts\": ",
        Micros{end_ns + 1000}, "\n  }");
  }

  [[nodiscard]] KinetoStatistics Statistics() const {
    KinetoStatistics statistics;
    statistics.rows = rows_;
    for (std::size_t category = 0; category < kNumCategories; ++category) {
      statistics.categories.push_back({kCategoryNames[category], count_[category]});
    }
    return statistics;
  }

  const TrainingStep& step_;
  const KinetoFileOptions& options_;
  TextWriter& out_;
  std::vector<Repetition> repetitions_;
  std::int64_t process_;
  std::int64_t rows_ = 0;
  std::int64_t event_index_ = 0;
  std::string step_name_;
  std::array<std::int64_t, kNumCategories> count_{};
};

}  // namespace

std::string RanksOfGroup(int rank) {
  const int first = rank / kGroupSize * kGroupSize;
  std::string ranks;
  for (int member = first; member < first + kGroupSize; ++member) {
    ranks += fmt::format("{}{}", ranks.empty() ? "[" : ", ", member);
  }
  return ranks + "]";
}

KinetoStatistics WriteKinetoFile(const TrainingStep& step, const KinetoFileOptions& options,
                                 TextWriter& out) {
  return KinetoWriter(step, options, out).Write();
}

}  // namespace orrery::bench
