#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/operator_prices.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Trace;

/// Every operator takes 2 s on the slow GPU and 1 s on others.
class TwoSpeeds : public kernel::CostModel {
 public:
  using CostModel::Predict;

  void Predict(std::span<const kernel::Operator> /*operators*/, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    for (kernel::Estimate& estimate : estimates) {
      estimate.seconds = gpu.name == "slow" ? 2 : 1;
    }
  }
};

hardware::Gpu Gpu(const std::string& name, double memory, double host_link) {
  hardware::Gpu gpu;
  gpu.name = name;
  gpu.memory = {memory};
  gpu.host_link = {host_link};
  return gpu;
}

/// Four calls that launch 1 µs each: relu, one below relu, one that is not known, and a copy from
/// the host.
Trace Recording() {
  Trace trace;
  const RowId thread = trace.tracks.Append({.process = 1, .thread = 1});
  const RowId stream =
      trace.tracks.Append({.kind = trace::TrackKind::kDevice, .thread = 7, .device = 0});
  const auto add_operator = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
    trace.host_ops.Append({.begin_ns = begin,
                           .duration_ns = end - begin,
                           .name = trace.strings.Intern(name),
                           .track = thread,
                           .input_dims = trace.strings.Intern("[[64, 64]]"),
                           .input_types = trace.strings.Intern(R"json(["float"])json"),
                           .input_strides = trace.strings.Intern("[[64, 1]]"),
                           .concrete_inputs = trace.strings.Intern(R"json([""])json")});
  };
  const auto launch = [&](std::int64_t at, trace::ActivityKind kind) {
    trace.runtime_calls.Append({.begin_ns = at,
                                .duration_ns = 1,
                                .name = trace.strings.Intern("cudaLaunchKernel"),
                                .track = thread,
                                .correlation = at});
    trace.activities.Append({.begin_ns = 1000 * at,
                             .duration_ns = 1000,
                             .track = stream,
                             .kind = kind,
                             .copy_kind = kind == trace::ActivityKind::kMemcpy
                                              ? trace::CopyKind::kHostToDevice
                                              : trace::CopyKind::kNone,
                             .correlation = at});
  };
  add_operator("aten::relu", 0, 100);
  launch(10, trace::ActivityKind::kKernel);
  add_operator("aten::clamp_min", 20, 80);
  launch(30, trace::ActivityKind::kKernel);
  add_operator("mine::mystery", 200, 300);
  launch(210, trace::ActivityKind::kKernel);
  launch(400, trace::ActivityKind::kMemcpy);
  trace::FinishTrace(trace);
  return trace;
}

// Calls take twice as long; the memory is four times as slow, the way to the host as fast.
TEST(OtherGpuTest, WorkIsScaledByWhatIsKnownOfIt) {
  Trace recording = Recording();

  const ScalingSummary summary =
      ScaleToGpu(Gpu("fast", 8, 1), Gpu("slow", 2, 1), TwoSpeeds(), recording);

  EXPECT_THAT(recording.activities.duration_ns, ElementsAre(2000, 2000, 4000, 1000));
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(ScaledBy::kModels)].activities, 2);
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(ScaledBy::kMemory)].activities, 1);
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(ScaledBy::kMemory)].to_ns, 4000);
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(ScaledBy::kLinks)].activities, 1);
  EXPECT_THAT(summary.unknown_names, ElementsAre("mine::mystery"));
  EXPECT_THAT(RemarkOn(summary), HasSubstr("1 kernels and memcpys, 25.0 %"));
  EXPECT_THAT(RemarkOn(summary), HasSubstr("mine::mystery"));
}

hardware::Gpu WithPapers(hardware::Gpu gpu, const std::string& generation) {
  gpu.generation = generation;
  gpu.peak_flops = {{"fp32", 1e15}};
  return gpu;
}

// relu is bound by memory, which is four times as slow, whatever the models say.
TEST(OtherGpuTest, GpusOfOneGenerationAreScaledByTheirPapers) {
  Trace recording = Recording();

  const ScalingSummary summary =
      ScaleToGpu(WithPapers(Gpu("fast", 8, 1), "hopper"), WithPapers(Gpu("slow", 2, 1), "hopper"),
                 TwoSpeeds(), recording);

  EXPECT_THAT(recording.activities.duration_ns, ElementsAre(4000, 4000, 4000, 1000));
  EXPECT_EQ(summary.shares[static_cast<std::size_t>(ScaledBy::kBounds)].activities, 2);
}

// The models say twice as long; by the papers it is 16 times as long, so at least 16 / 3 times.
TEST(OtherGpuTest, ModelsOfTwoGenerationsStayNearThePapers) {
  Trace recording = Recording();

  static_cast<void>(ScaleToGpu(WithPapers(Gpu("fast", 32, 1), "hopper"),
                               WithPapers(Gpu("slow", 2, 1), "ampere"), TwoSpeeds(), recording));

  EXPECT_THAT(recording.activities.duration_ns, ElementsAre(5333, 5333, 16000, 1000));
}

TEST(OtherGpuTest, TheSameGpuChangesNothing) {
  Trace recording = Recording();
  const hardware::Gpu gpu = Gpu("fast", 8, 1);

  static_cast<void>(ScaleToGpu(gpu, gpu, TwoSpeeds(), recording));

  EXPECT_EQ(recording, Recording());
}

// A recorded training step with the shipped models.
TEST(OtherGpuTest, ThereAndBackIsWhereItBegan) {
  const std::string path = ORRERY_SHARED "/traces/h200/gpt2-small-b4.kineto.json.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the recording is not here: " << path;
  }
  ingest::Run run = ingest::ReadRun({path}).value();
  Trace& recording = run.set.ranks[0];
  const std::vector<std::int64_t> recorded_ns = recording.activities.duration_ns;
  const kernel::ModelSet models = kernel::ShippedModels().value();
  const hardware::Gpu& here = *hardware::FindGpu("H200");
  const hardware::Gpu& there = *hardware::FindGpu("A100-80GB");

  const ScalingSummary away = ScaleToGpu(here, there, models, recording);
  static_cast<void>(ScaleToGpu(there, here, models, recording));

  // Rounded twice to nanoseconds, of which one there is less than one here.
  for (RowId row = 0; row < recorded_ns.size(); ++row) {
    EXPECT_LE(std::abs(recording.activities.duration_ns[row] - recorded_ns[row]), 2);
  }
  const ScalingSummary::Share& known = away.shares[static_cast<std::size_t>(ScaledBy::kModels)];
  const ScalingSummary::Share& unknown = away.shares[static_cast<std::size_t>(ScaledBy::kMemory)];
  EXPECT_GT(known.from_ns, 9 * unknown.from_ns);
  // No more than the ratio of peaks (3.17); less than that of bandwidths (2.35) where launches of
  // small kernels take the same on both.
  const double ratio = static_cast<double>(known.to_ns) / static_cast<double>(known.from_ns);
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 3.17);
}

// relu takes a second by the models, beside its own kernel and that of the call below it, 1 µs
// each; the unknown one has no estimate.
TEST(OperatorPricesTest, ACallHasThePriceOfItsKernelsTogether) {
  const Trace recording = Recording();

  const OperatorPrices prices(recording, Gpu("fast", 8, 1), TwoSpeeds());

  ASSERT_EQ(prices.prices().size(), 1U);
  const OperatorPrice& relu = prices.prices().front();
  EXPECT_EQ(relu.host_op, 0U);
  EXPECT_EQ(relu.model->seconds, 1);
  EXPECT_EQ(relu.recorded_ns, 2000);
  EXPECT_EQ(relu.num_kernels, 2);
  EXPECT_THAT(relu.model->Text(), HasSubstr("elementwise"));
  EXPECT_EQ(prices.OfActivity(recording, 0), &relu);
  EXPECT_EQ(prices.OfActivity(recording, 1), &relu);
  EXPECT_EQ(prices.OfActivity(recording, 2), nullptr);
  EXPECT_EQ(prices.OfActivity(recording, 3), nullptr);
}

}  // namespace
}  // namespace orrery::workload
