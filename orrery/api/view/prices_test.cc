#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/api/fields.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

using analyze::test_run::Rank;
using testing::HasSubstr;

/// Every operator takes 20 µs, 10 at the roofline.
class SlowModel : public kernel::CostModel {
 public:
  using CostModel::Predict;

  void Predict(std::span<const kernel::Operator> /*operators*/, const hardware::Gpu& /*gpu*/,
               std::span<kernel::Estimate> estimates) const override {
    for (kernel::Estimate& estimate : estimates) {
      estimate = {.seconds = 20e-6,
                  .roofline_seconds = 10e-6,
                  .uncertainty = 0.1,
                  .source = kernel::EstimateSource::kThisGpu};
    }
  }
};

/// A GEMM that takes 30 µs, on a GPU with a name, with shapes or without.
trace::Trace OneGemm(std::string_view gpu, std::string_view dims) {
  Rank rank(0);
  rank.Step(1, {0, 100});
  rank.Operator("aten::mm", {1, 9});
  rank.Kernel("sm90_gemm", {10, 40}, 7, rank.Call({2, 4}));
  trace::Trace& trace = rank.trace();
  trace.devices.Append({.id = 0, .name = trace.strings.Intern(gpu)});
  trace.host_ops.input_dims.front() = trace.strings.Intern(dims);
  trace.host_ops.input_types.front() =
      trace.strings.Intern(R"(["c10::BFloat16", "c10::BFloat16"])");
  return rank.Finish();
}

class PricesTest : public testing::Test {
 protected:
  // As data, in which a text of the page is found wherever it stands.
  template <typename Answer, typename Request>
  std::string Ask(trace::Trace trace, Answer answer, const Request& request) {
    ingest::Run run;
    run.set.ranks.push_back(std::move(trace));
    RunList runs{ViewedRun::Recorded(
        "run", std::move(run),
        {.threads = 1,
         .kernel_models = [this]() -> Result<const kernel::CostModel*> { return &model_; },
         .memory_documents =
             [](const ViewedRun& viewed) {
               report::Document document{.title = viewed.name() + ": heat"};
               document.AddSection().Say("two accesses");
               return std::vector{document};
             }})};
    const View view(std::make_unique<ViewState>(std::move(runs)));
    return draw::JsonText(ToValue(answer(view, request).value()));
  }

  std::string Tab(trace::Trace trace, const std::string& name) {
    return Ask(std::move(trace), &MakeTab, TabRequest{.name = name});
  }

  SlowModel model_;
};

constexpr std::string_view kShapes = "[[64, 64], [64, 64]]";
constexpr std::string_view kH100 = "NVIDIA H100 80GB HBM3";
// The track of the kernels: behind the thread's steps, operators and calls.
constexpr SliceRequest kKernel = {.rank = 0, .track = 3, .row = 0};

// 30 µs measured over 20 predicted is 1.5.
TEST_F(PricesTest, ASliceSaysWhatTheModelSays) {
  const std::string slice = Ask(OneGemm(kH100, kShapes), &DescribeSlice, kKernel);
  EXPECT_THAT(slice, HasSubstr("20.0 µs ± 10 % for aten::mm"));
  EXPECT_THAT(slice, HasSubstr("30.0 µs in 1 kernel (1.50 times the model)"));
  EXPECT_THAT(slice, HasSubstr("10.0 µs at least"));
  EXPECT_THAT(slice, HasSubstr("gemm m=64 n=64 k=64 bf16, this GPU"));
}

TEST_F(PricesTest, KernelsStandBesideTheirPrediction) {
  const std::string tab = Tab(OneGemm(kH100, kShapes), "kernels");
  EXPECT_THAT(tab, HasSubstr("The models estimate 100 % of the time of kernels: 20.0 µs predicted "
                             "where 30.0 µs were measured (ratio 1.50), 10.0 µs at the roofline."));
}

TEST_F(PricesTest, WithoutShapesItSaysHowToRecordThem) {
  const std::string tab = Tab(OneGemm(kH100, ""), "kernels");
  EXPECT_THAT(tab, HasSubstr("record_shapes=True"));
}

TEST_F(PricesTest, AnUnknownGpuIsSaid) {
  EXPECT_THAT(Tab(OneGemm("Abacus 9", kShapes), "kernels"),
              HasSubstr("the catalogue has no GPU 'Abacus 9'"));
  EXPECT_THAT(Tab(OneGemm("", kShapes), "kernels"),
              HasSubstr("the recording does not name its GPU"));
}

TEST_F(PricesTest, MemoryToolsAreSectionsOfTheMemoryTab) {
  const std::string tab = Tab(OneGemm(kH100, kShapes), "memory");
  EXPECT_THAT(tab, HasSubstr("run: heat"));
  EXPECT_THAT(tab, HasSubstr("two accesses"));
}

}  // namespace
}  // namespace orrery::api::view
