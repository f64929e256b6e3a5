#include "orrery/workload/recorded/repeated_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded_waits.h"
#include "orrery/workload/recorded/recordings_test.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Trace;

constexpr std::int64_t kForward = 10;   // of a layer, µs
constexpr std::int64_t kBackward = 20;  // of a layer, µs

struct Written {
  int layers = 2;
  int steps = 1;
  int passes = 1;                       // micro-batches of a step
  std::int64_t kernel_ns = 1000;        // of a layer's forward kernel
  std::int64_t optimizer_ns = 100'000;  // of its one kernel
};

/// Steps of layers alike: forward a launch in the range of each layer; backward, by another thread,
/// one that follows from it. Then a kernel of the optimizer.
class LayerWriter {
 public:
  explicit LayerWriter(const Written& written) : written_(written) {}

  Trace Write() {
    for (int step = 0; step < written_.steps; ++step) {
      const std::int64_t begin = at_;
      for (int pass = 0; pass < written_.passes; ++pass) {
        Pass();
      }
      writer_.Annotation("optimizer", at_, at_ + 20);
      writer_.Launch(at_ + 5, at_ + 8, written_.optimizer_ns);
      writer_.Annotation("ProfilerStep#" + std::to_string(step), begin, at_ + 20);
      at_ += 25;
    }
    return writer_.Finish();
  }

 private:
  void Pass() {
    const std::int64_t sequence = sequence_;
    for (int layer = 0; layer < written_.layers; ++layer, at_ += kForward) {
      writer_.Annotation("layer#" + std::to_string(layer), at_, at_ + 9);
      writer_.Operator("aten::mm", at_ + 1, at_ + 8, sequence_++);
      writer_.Launch(at_ + 3, at_ + 5, written_.kernel_ns);
    }
    writer_.Operator("aten::sum", at_ + 1, at_ + 4);
    at_ += 10;
    writer_.SwitchThread();
    for (int layer = written_.layers - 1; layer >= 0; --layer, at_ += kBackward) {
      writer_.Operator("autograd::engine::evaluate_function: MmBackward0", at_, at_ + 15);
      writer_.Operator("MmBackward0", at_ + 1, at_ + 14, sequence + layer, 1);
      writer_.Launch(at_ + 4, at_ + 7, 3000);
    }
    writer_.SwitchThread();
    at_ += 10;
  }

  Written written_;
  RecordingWriter writer_;
  std::int64_t at_ = 0;
  std::int64_t sequence_ = 0;
};

Trace Recording(const Written& written) {
  return LayerWriter(written).Write();
}

Trace Repeated(Trace recording, int traced, int wanted) {
  return RepeatLayers(std::move(recording), {.traced = traced, .wanted = wanted}).value();
}

using Place = std::tuple<CallKind, std::string, std::int64_t, std::int64_t>;

/// All calls of a recording with their times; numbers of ranges left out.
std::vector<Place> CallsOf(const Trace& recording) {
  std::vector<Place> places;
  for (const CallTree& step : RecordedSteps(recording)) {
    for (const ThreadCalls& thread : step.threads) {
      for (const Call& call : thread.calls) {
        places.emplace_back(call.kind, std::string(BaseName(recording.Text(call.name))),
                            call.begin_ns, call.duration_ns);
      }
    }
  }
  return places;
}

/// Kernels in order: when they begin, how long they run, when they were launched.
std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> KernelsOf(
    const Trace& recording) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> kernels;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    kernels.emplace_back(recording.activities.begin_ns[row], recording.activities.duration_ns[row],
                         recording.runtime_calls.begin_ns[recording.activities.launch[row]]);
  }
  return kernels;
}

// Layers are alike and as far apart as the host needs, so that a repeated recording is, but for the
// optimizer, the one of more layers, with all its times.
RC_GTEST_PROP(RepeatedLayersProperty, RepeatedRecordingIsThatOfMoreLayers, ()) {
  Written written{.layers = *rc::gen::inRange(2, 7),
                  .steps = *rc::gen::inRange(1, 4),
                  .passes = *rc::gen::inRange(1, 3)};
  const int traced = written.layers;
  Trace few = Recording(written);
  written.layers = *rc::gen::inRange(traced, traced + 5);
  const Trace many = Recording(written);

  // As many parameters as if layers had none, so that the optimizer stays as it is.
  const Trace repeated =
      RepeatLayers(
          std::move(few),
          {.traced = traced, .wanted = written.layers, .layer_parameters = 0, .parameters = 1})
          .value();

  RC_ASSERT(CallsOf(repeated) == CallsOf(many));
  RC_ASSERT(KernelsOf(repeated) == KernelsOf(many));
}

RC_GTEST_PROP(RepeatedLayersProperty, AsManyLayersAsTracedChangeNothing, ()) {
  const Written written{.layers = *rc::gen::inRange(1, 6), .passes = *rc::gen::inRange(1, 3)};
  const Trace recording = Recording(written);

  RC_ASSERT(Repeated(Recording(written), written.layers, written.layers) == recording);
}

// Three layers of two kernels and an optimizer: 7 kernels. Five layers more: 5 · 2 more.
TEST(RepeatedLayersTest, EachLayerAddsItsKernels) {
  EXPECT_EQ(Recording({.layers = 3}).activities.size(), 7);
  EXPECT_EQ(Repeated(Recording({.layers = 3}), 3, 8).activities.size(), 17);
}

TEST(RepeatedLayersTest, CopiesHaveIdsOfTheirOwn) {
  const Trace repeated = Repeated(Recording({.layers = 3}), 3, 8);

  std::vector<std::int64_t> correlations = repeated.runtime_calls.correlation;
  std::ranges::sort(correlations);
  EXPECT_TRUE(std::ranges::adjacent_find(correlations) == correlations.end());
}

// 100 parameters, of which 3 layers more than traced have 60: the traced model had 40, and the
// optimizer's kernel takes 100 / 40 times as long.
TEST(RepeatedLayersTest, OptimizerTakesLongerWithMoreParameters) {
  const Trace repeated =
      RepeatLayers(Recording({.layers = 2}),
                   {.traced = 2, .wanted = 5, .layer_parameters = 20, .parameters = 100})
          .value();

  EXPECT_EQ(repeated.activities.duration_ns.back(), 250'000);
}

// Kernels of 100 µs for layers that the host launches every 10: the copies of layer 1 begin as far
// apart as the GPU needs for them.
TEST(RepeatedLayersTest, KernelsOfAGpuBoundStepStayInOrder) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 300);
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    writer.Annotation("layer#" + std::to_string(layer), 10 * layer, 10 * layer + 9);
    writer.Operator("aten::mm", 10 * layer + 1, 10 * layer + 8, layer);
    writer.Launch(10 * layer + 2, 10 * layer + 4, 100'000, 5 + 100 * layer);
  }
  writer.SwitchThread();
  for (std::int64_t layer = 2; layer >= 0; --layer) {
    writer.Operator("autograd::engine::evaluate_function: MmBackward0", 100 - 20 * layer,
                    110 - 20 * layer);
    writer.Operator("MmBackward0", 101 - 20 * layer, 109 - 20 * layer, layer, 1);
  }

  const Trace repeated = Repeated(writer.Finish(), 3, 5);

  EXPECT_THAT(repeated.activities.begin_ns, ElementsAre(5'000, 105'000, 205'000, 305'000, 405'000));
  EXPECT_THAT(repeated.runtime_calls.begin_ns, ElementsAre(2'000, 12'000, 22'000, 32'000, 42'000));
}

/// Each layer waits at its begin for what the layer before recorded at its end.
Trace ChainOfEvents(int layers) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 1000);
  const auto call = [&](const std::string& name, std::int64_t at, std::int64_t correlation) {
    writer.trace.runtime_calls.Append({.begin_ns = at * 1000,
                                       .duration_ns = 500,
                                       .name = writer.trace.strings.Intern(name),
                                       .track = 0,
                                       .correlation = correlation});
  };
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t at = 20 * layer;
    writer.Annotation("layer#" + std::to_string(layer), at, at + 18);
    writer.Operator("aten::mm", at + 3, at + 8, layer);
    call("cudaStreamWaitEvent", at + 1, 100 + 2 * layer);
    call("cudaEventRecord", at + 12, 101 + 2 * layer);
    writer.trace.syncs.Append({.begin_ns = (at + 1) * 1000,
                               .kind = trace::SyncKind::kStreamWaitEvent,
                               .stream = 7,
                               .correlation = 100 + 2 * layer,
                               .wait_on_stream = 8,
                               .record_correlation = 99 + 2 * layer});
  }
  writer.SwitchThread();
  for (std::int64_t layer = layers - 1; layer >= 0; --layer) {
    const std::int64_t at = 500 - 20 * layer;
    writer.Operator("autograd::engine::evaluate_function: MmBackward0", at, at + 10);
    writer.Operator("MmBackward0", at + 1, at + 9, layer, 1);
  }
  return writer.Finish();
}

// The wait of each layer but the first is for the record 9 µs before it: that of the layer before.
TEST(RepeatedLayersTest, EventsOfALayerAreThoseOfTheCopyBefore) {
  const Trace repeated = Repeated(ChainOfEvents(4), 4, 9);

  const RecordedWaits waits = WaitsOf(repeated);

  ASSERT_EQ(waits.of_streams.size(), 8);
  EXPECT_EQ(waits.unknown, 1);
  for (const StreamWait& wait : waits.of_streams) {
    EXPECT_EQ(wait.order - wait.event.order, 9'000);
  }
}

/// Counts the ranges of each name, of all layers.
std::map<std::string, int> CountRanges(const Trace& recording) {
  std::map<std::string, int> counts;
  for (RowId row = 0; row < recording.annotations.size(); ++row) {
    const std::string_view name = recording.Text(recording.annotations.name[row]);
    if (recording.annotations.kind[row] == trace::AnnotationKind::kHost) {
      ++counts[std::string(name.substr(0, name.find(" (")))];
    }
  }
  return counts;
}

// Puts a range of ours around each layer of a model that FSDP has ranges for, from what it does
// before the layer to what it does behind it.
void AddLayerRanges(Trace& recording) {
  const trace::Annotations ranges = recording.annotations;
  for (RowId row = 0; row < ranges.size(); ++row) {
    const std::string name(recording.Text(ranges.name[row]));
    const std::string before = "FSDP::pre_forward (model.layers.";
    if (name.starts_with(before) && ranges.kind[row] == trace::AnnotationKind::kHost) {
      const std::string layer = name.substr(before.size(), name.size() - before.size() - 1);
      const StringId behind =
          recording.strings.Intern("FSDP::post_forward (model.layers." + layer + ")");
      const auto end =
          static_cast<RowId>(std::ranges::find(ranges.name, behind) - ranges.name.begin());
      trace::Annotations::Row range = ranges.At(row);
      range.name = recording.strings.Intern("layer#" + layer);
      range.duration_ns = ranges.begin_ns[end] + ranges.duration_ns[end] - range.begin_ns;
      recording.annotations.Append(range);
    }
  }
  std::ranges::fill(recording.host_ops.forward_op, kNoRow);
  trace::FinishTrace(recording);
}

// One rank of FSDP2 with four layers, which fetches the next layer while it computes one. Each
// layer has its ranges once, but what it gathers, and copies out, twice: forward and backward. The
// model around the layers has each once more, and gathers but once.
TEST(RepeatedLayersTest, PrefetchOfNeighboursRepeatsWithThem) {
  const std::string path = ORRERY_SHARED "/traces/h200/fake-fsdp64.kineto.json.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the recording is not here: " << path;
  }
  ingest::Run run = ingest::ReadRun({path}).value();
  Trace& recording = run.set.ranks[0];
  AddLayerRanges(recording);
  const std::map<std::string, int> before = CountRanges(recording);
  const std::size_t num_kernels = recording.activities.size();

  const Trace seven = Repeated(std::move(run.set.ranks[0]), 4, 7);
  const std::map<std::string, int> after = CountRanges(seven);

  for (const std::string name : {"FSDP::pre_forward", "FSDP::post_forward", "FSDP::pre_backward",
                                 "FSDP::post_backward_reduce"}) {
    EXPECT_EQ(after.at(name), before.at(name) + 3) << name;
  }
  for (const std::string name : {"FSDP::all_gather", "FSDP::all_gather_copy_out"}) {
    EXPECT_EQ(after.at(name), before.at(name) + 6) << name;
  }
  EXPECT_EQ((seven.activities.size() - num_kernels) % 3, 0);
  EXPECT_GT(seven.activities.size(), num_kernels);
}

TEST(RepeatedLayersTest, RecordingWithoutRangesIsRefused) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 10);
  writer.Operator("aten::mm", 1, 2);

  const auto repeated = RepeatLayers(writer.Finish(), {.traced = 3, .wanted = 4});

  ASSERT_FALSE(repeated.has_value());
  EXPECT_THAT(repeated.error().message(), HasSubstr("no range 'layer#1'"));
}

TEST(RepeatedLayersTest, OneLayerIsTooFew) {
  EXPECT_FALSE(RepeatLayers(Recording({.layers = 1}), {.traced = 1, .wanted = 4}).has_value());
}

}  // namespace
}  // namespace orrery::workload
