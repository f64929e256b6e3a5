#include "orrery/report/simulation_pictures.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/report/document.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using workload::Phase;

// Stages that do not talk: each has its passes one after the other, forward 1 µs and backward 2 µs.
workload::Ensemble Stages(std::uint32_t stages, std::int32_t microbatches) {
  workload::Ensemble ensemble;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    simulate::RankWriter rank({});
    for (const auto& [phase, duration_ps] :
         {std::pair(Phase::kForward, 1'000'000), std::pair(Phase::kBackward, 2'000'000)}) {
      const workload::PartId part = rank.program.parts.Append(
          {.category = rank.program.strings.Intern("products"), .phase = phase, .chunk = 0});
      for (std::int32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
        rank.program.tasks.microbatch[rank.Kernel(duration_ps, part)] = microbatch;
      }
    }
    ensemble.programs.push_back(std::move(rank.program));
    simulate::AddRank(ensemble, stage);
  }
  return ensemble;
}

// The same in a pipeline: each stage tells the next that it has ended.
workload::Ensemble PipelineOf(std::uint32_t stages) {
  workload::Ensemble ensemble;
  ensemble.num_roles = 2;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    simulate::RankWriter rank({"pp in", "pp out"});
    const workload::TaskId kernel = rank.Kernel(1'000'000);
    if (stage > 0) {
      rank.After(rank.Message(0, 8), kernel);
    }
    if (stage + 1 < stages) {
      rank.After(kernel, rank.Message(1, 8));
    }
    ensemble.programs.push_back(std::move(rank.program));
    simulate::AddRank(ensemble, stage);
  }
  for (std::uint32_t stage = 0; stage + 1 < stages; ++stage) {
    const workload::GroupId pair = ensemble.AddGroup(std::vector{stage, stage + 1});
    ensemble.group_of_role[std::size_t{stage} * 2 + 1] = pair;
    ensemble.group_of_role[std::size_t{stage + 1} * 2] = pair;
  }
  return ensemble;
}

std::string PageOf(const workload::Ensemble& ensemble) {
  const simulate::RankClasses rank_classes = simulate::Fold(ensemble, simulate::IslandLinkClass(8));
  simulate::PlainTimes times;
  const simulate::Timeline timeline = *simulate::Simulate(rank_classes, times);
  const simulate::SimulatedStep simulated{&rank_classes, &timeline, nullptr};
  const simulate::StepSummary summary = simulate::Summarize(simulated);
  Document document{.title = "a <job>"};
  Document::Section& section = document.AddSection("The step");
  for (Document::Picture& picture : TimelinePictures(simulated, summary)) {
    section.Add(std::move(picture));
  }
  section.Add(BreakdownPicture(simulated, summary));
  return RenderHtml(document);
}

TEST(SimulationPicturesTest, ShowPassesWithTheirMicroBatches) {
  const std::string page = PageOf(Stages(2, 3));

  EXPECT_THAT(page, HasSubstr("<h1>a &lt;job&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("9.00 µs"));  // 3 · (1 + 2)
  EXPECT_THAT(page, HasSubstr(">rank 1<"));
  EXPECT_THAT(page, HasSubstr(">3</text>"));  // the number of a micro-batch
  EXPECT_THAT(page, HasSubstr("micro-batch 3"));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(SimulationPicturesTest, StagesAndABubbleAreOfAPipeline) {
  const std::string page = PageOf(PipelineOf(3));
  EXPECT_THAT(page, HasSubstr(">stage 2<"));
  EXPECT_THAT(page, HasSubstr("One row per stage of the pipeline"));

  const std::string without = PageOf(Stages(2, 3));
  EXPECT_THAT(without, Not(HasSubstr("stage")));
  EXPECT_THAT(without, Not(HasSubstr("bubble<")));
}

// A step of 9 µs on an axis of 18 µs: its rows are half as wide as the plot of 964 pixels.
TEST(SimulationPicturesTest, AComparedStepEndsBeforeTheAxis) {
  const workload::Ensemble ensemble = Stages(2, 3);
  const simulate::RankClasses rank_classes = simulate::Fold(ensemble, simulate::IslandLinkClass(8));
  simulate::PlainTimes times;
  const simulate::Timeline timeline = *simulate::Simulate(rank_classes, times);
  const simulate::SimulatedStep simulated{&rank_classes, &timeline, nullptr};
  const simulate::StepSummary summary = simulate::Summarize(simulated);

  EXPECT_THAT(ComparedTimeline(simulated, summary, 18'000'000).svg, HasSubstr("M92 4h482v"));
  EXPECT_THAT(ComparedTimeline(simulated, summary, 0).svg, HasSubstr("M92 4h964v"));
}

// 64 stages with 512 micro-batches are 65,536 passes, which as single elements would be ten times
// as much.
TEST(SimulationPicturesTest, LargeJobsAreBounded) {
  EXPECT_LT(PageOf(Stages(64, 512)).size(), 3'000'000U);
}

}  // namespace
}  // namespace orrery::report
