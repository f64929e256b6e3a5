#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/streams/memory_streams.h"

// Small recordings for the golden cases of timelines, patterns, overheads and differences.

namespace orrery::streams {

/// Adds events that are numbered as they come, and texts each once.
class EventStream {
 public:
  template <typename Record>
  void Put(const Record& record) {
    bytes_.Add(record);
  }

  /// Adds an event; returns its number.
  template <typename Event>
  std::uint64_t Happen(std::int64_t time_ns, Event event) {
    event.sequence = ++sequence_;
    event.time_ns = time_ns;
    event.thread = 1;
    Put(event);
    return event.sequence;
  }

  /// The number of a text.
  std::uint64_t Text(std::string_view text) {
    const auto [known, is_new] = id_of_text_.try_emplace(std::string(text), id_of_text_.size() + 1);
    if (is_new) {
      Put(stream::String{.id = known->second, .text = known->first});
    }
    return known->second;
  }

  [[nodiscard]] std::string Finish() { return bytes_.Finish(); }

 private:
  StreamBytes bytes_;
  std::uint64_t sequence_ = 0;
  std::map<std::string, std::uint64_t> id_of_text_;
};

inline constexpr std::uint64_t kMebibyte = 1 << 20;
inline constexpr std::uint64_t kPool = 0x10000000;

inline void Describe(EventStream& text, std::string_view gpu, std::string_view framework) {
  text.Put(stream::Process{.producer = "written by hand", .process = 1, .framework = framework});
  text.Put(stream::Device{.device = 0, .name = gpu, .memory_bytes = 80'000'000'000});
}

/// One training step of a layer: a pool of 64 MiB in which 8 MiB of weights lie, 16 MiB beside it.
///
///   after    what                                   allocated, MiB
///   ------   ------------------------------------   --------------
///   before   weights (8)                             8
///   linear   output (4), workspaces come and go      12, up to 12 + workspaces
///   relu     output (4)                              16
///   ReluBackward   gradient of its input (4)         20, then 16 without relu's output
///   AddmmBackward  gradient of the weights (G)       16 + G: the peak; then 16 + G - 8
///   Optimizer.step momentum (8)                      16 + G
///   at last  the gradient of the weights is freed    16
struct StepVariant {
  std::string_view gpu;
  std::string_view framework;
  int num_workspaces = 1;
  std::uint64_t workspace_bytes = 2 * kMebibyte;
  std::uint64_t gradient_bytes = 8 * kMebibyte;
};

class StepWriter {
 public:
  explicit StepWriter(const StepVariant& variant) : variant_(variant) {}

  std::string Write() {
    Describe(text_, variant_.gpu, variant_.framework);
    PutBefore();
    text_.Happen(1000, stream::Step{.number = 0});
    Forward();
    Backward();
    Optimize();
    return text_.Finish();
  }

 private:
  void PutBefore() {
    text_.Put(stream::Object{
        .id = 1, .address = kPool, .bytes = 64 * kMebibyte, .memory_class = codes::kDeviceClass});
    text_.Put(stream::Object{
        .id = 2, .address = kPool, .bytes = 64 * kMebibyte, .memory_class = codes::kSegmentClass});
    text_.Put(stream::Object{.id = 3,
                             .address = kPool,
                             .bytes = 8 * kMebibyte,
                             .memory_class = codes::kTensorClass,
                             .name = text_.Text("weight")});
    text_.Put(stream::Object{.id = 4,
                             .address = 0x80000000,
                             .bytes = 16 * kMebibyte,
                             .memory_class = codes::kDeviceClass,
                             .name = text_.Text("communicator")});
  }

  std::uint64_t Open(std::int64_t time_ns, std::string_view name) {
    return text_.Happen(time_ns, stream::OperatorBegin{.name = text_.Text(name)});
  }

  void Close(std::int64_t time_ns, std::uint64_t begin) {
    text_.Happen(time_ns, stream::OperatorEnd{.begin = begin});
  }

  void Take(std::int64_t time_ns, std::uint64_t object, std::uint64_t offset_mebibytes,
            std::uint64_t bytes) {
    text_.Happen(time_ns, stream::Allocation{.object = object,
                                             .address = kPool + offset_mebibytes * kMebibyte,
                                             .bytes = bytes,
                                             .level = codes::kTensor});
  }

  void GiveBack(std::int64_t time_ns, std::uint64_t object) {
    text_.Happen(time_ns, stream::Free{.object = object, .level = codes::kTensor});
  }

  void Launch(std::int64_t time_ns, std::string_view name, std::uint64_t object) {
    const std::uint64_t module_name = text_.Text(name);
    text_.Put(stream::Function{.id = module_name, .name = module_name});
    const std::uint64_t launch = text_.Happen(
        time_ns,
        stream::Launch{.function = module_name, .coverage = codes::kExact, .duration_ns = 40});
    text_.Put(stream::Touch{.launch = launch, .object = object, .read_bytes = 4096, .lanes = 1024});
  }

  void Forward() {
    const std::uint64_t region =
        text_.Happen(1050, stream::RegionBegin{.name = text_.Text("forward")});
    const std::uint64_t linear = Open(1100, "aten::linear");
    Take(1150, 20, 8, 4 * kMebibyte);
    for (int i = 0; i < variant_.num_workspaces; ++i) {
      const auto object = static_cast<std::uint64_t>(30 + i);
      Take(1200 + 20 * i, object, 40, variant_.workspace_bytes);
      GiveBack(1210 + 20 * i, object);
    }
    Launch(1290, "gemm", 3);
    Close(1300, linear);
    const std::uint64_t relu = Open(1400, "aten::relu");
    Take(1450, 22, 12, 4 * kMebibyte);
    Launch(1480, "relu", 22);
    Close(1500, relu);
    text_.Happen(1600, stream::RegionEnd{.begin = region});
  }

  void Backward() {
    const std::uint64_t relu = Open(2000, "autograd::engine::evaluate_function: ReluBackward0");
    Take(2050, 23, 16, 4 * kMebibyte);
    GiveBack(2080, 22);
    Close(2100, relu);
    const std::uint64_t linear = Open(2200, "autograd::engine::evaluate_function: AddmmBackward0");
    Take(2250, 24, 20, variant_.gradient_bytes);
    GiveBack(2260, 23);
    GiveBack(2280, 20);
    Close(2300, linear);
  }

  void Optimize() {
    const std::uint64_t step = Open(3000, "Optimizer.step#SGD.step");
    Take(3050, 25, 48, 8 * kMebibyte);
    Close(3100, step);
    GiveBack(3500, 24);
  }

  StepVariant variant_;
  EventStream text_;
};

/// Six objects of 1 MiB that each waste something; see tests/golden/memory/patterns.case.
inline std::string WastefulStream() {
  EventStream text;
  Describe(text, "NVIDIA H200", "by hand");
  std::int64_t now_ns = 0;
  const auto take = [&](std::uint64_t object) {
    text.Happen(now_ns += 1000, stream::Allocation{.object = object,
                                                   .address = object << 24,
                                                   .bytes = kMebibyte,
                                                   .level = codes::kTensor});
  };
  const auto give_back = [&](std::uint64_t object) {
    text.Happen(now_ns += 1000, stream::Free{.object = object, .level = codes::kTensor});
  };
  const auto launch = [&](std::uint64_t object, std::uint64_t coverage) {
    const std::uint64_t number = text.Happen(
        now_ns += 1000, stream::Launch{.function = 1, .coverage = coverage, .duration_ns = 500});
    text.Put(stream::Touch{.launch = number, .object = object, .read_bytes = kMebibyte});
  };
  const auto set = [&](std::uint64_t object) {
    text.Happen(now_ns += 1000, stream::Set{.address = object << 24, .width_bytes = kMebibyte});
  };
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    text.Happen(now_ns += 1000, stream::Copy{.source = from << 24,
                                             .destination = to << 24,
                                             .width_bytes = kMebibyte,
                                             .kind = codes::kDeviceToDevice});
  };
  text.Put(stream::Function{.id = 1, .name = text.Text("reader")});
  take(1);  // never accessed
  take(2);  // first accessed after 3 is freed
  take(3);
  launch(3, codes::kExact);
  give_back(3);
  launch(2, codes::kExact);
  take(4);  // while 2 is not accessed any more
  set(4);   // overwritten by the next one
  set(4);
  take(5);
  copy(4, 5);
  copy(4, 5);  // the same again
  give_back(2);
  give_back(1);
  take(6);
  launch(6, codes::kPartial);  // in the lives of 4, 5 and 6
  give_back(6);
  give_back(5);
  give_back(4);
  return text.Finish();
}

/// Times of the recordings of one program, in milliseconds.
struct Cost {
  std::uint64_t execution = 0;
  std::uint64_t collection = 0;
  std::uint64_t transfer = 0;
  std::uint64_t analysis = 0;
  std::uint64_t waiting = 0;
  std::uint64_t total = 0;
};

inline std::string OverheadStream(const Cost& cost) {
  constexpr std::uint64_t kMillisecond = 1'000'000;
  EventStream text;
  Describe(text, "NVIDIA H200", "by hand");
  text.Put(stream::Function{.id = 1, .name = text.Text("gemm")});
  text.Happen(0, stream::Launch{.function = 1, .coverage = codes::kExact, .duration_ns = 500});
  const auto part = [&](std::uint64_t phase, std::uint64_t milliseconds, std::uint64_t bytes) {
    text.Put(stream::Overhead{
        .phase = phase, .total_ns = milliseconds * kMillisecond, .count = 1, .bytes = bytes});
  };
  part(codes::kExecution, cost.execution, 0);
  part(codes::kCollection, cost.collection, 0);
  part(codes::kTransfer, cost.transfer, cost.transfer * kMebibyte);
  part(codes::kAnalysis, cost.analysis, 0);
  part(codes::kWaiting, cost.waiting, 0);
  part(codes::kTotal, cost.total, 0);
  return text.Finish();
}

inline std::vector<NamedStream> AllTimeStreams() {
  const StepVariant nvidia{.gpu = "NVIDIA H200", .framework = "PyTorch 2.11, CUDA 13.0"};
  const StepVariant amd{.gpu = "AMD Instinct MI300X",
                        .framework = "PyTorch 2.11, ROCm 6.4",
                        .num_workspaces = 3,
                        .workspace_bytes = kMebibyte,
                        .gradient_bytes = 7 * kMebibyte};
  const Cost plain{.execution = 100, .total = 100};
  const Cost coarse{.execution = 100, .collection = 3, .total = 104};
  const Cost gpu{.execution = 100,
                 .collection = 500,
                 .transfer = 100,
                 .analysis = 50,
                 .waiting = 100,
                 .total = 890};
  const Cost cpu{
      .execution = 100, .collection = 900, .transfer = 4000, .analysis = 17'000, .total = 20'000};
  return {{"timeline_step.orrs", StepWriter(nvidia).Write()},
          {"timeline_step_amd.orrs", StepWriter(amd).Write()},
          {"timeline_wasteful.orrs", WastefulStream()},
          {"overhead_plain.orrs", OverheadStream(plain)},
          {"overhead_coarse.orrs", OverheadStream(coarse)},
          {"overhead_gpu.orrs", OverheadStream(gpu)},
          {"overhead_cpu.orrs", OverheadStream(cpu)}};
}

}  // namespace orrery::streams
