#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/program_counts_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/convolutional.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Models that are no transformers: lists of layers and recommendation models.

namespace orrery::workload {
namespace {

using enum CollectiveKind;

std::int64_t HeldOf(const Program& program, std::string_view category) {
  std::int64_t sum = 0;
  for (RowId row = 0; row < program.held_memory.size(); ++row) {
    if (program.strings.View(program.held_memory.category[row]) == category) {
      sum += program.held_memory.bytes[row];
    }
  }
  return sum;
}

double ExecutedOf(const Program& program) {
  double sum = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    sum += static_cast<double>(program.tasks.duration_ps[task]);
  }
  return sum * CountingCosts::kFlopsPerPicosecond;
}

TEST(ListedModelsTest, ConvolutionalNetworksRunAllTheirGemmsForTheMicroBatch) {
  for (const std::string_view name :
       {"alexnet", "inception_v3", "resnet50", "resnet152", "vgg16", "vgg19"}) {
    const Model model{std::string(name), ConvolutionalNetwork(name, DataType::kBf16).value()};
    const Job job = JobOf({.model = model, .micro_batch = 32, .microbatches = 2});
    const GeneratedJob generated = Generate(job, CountingCosts()).value();
    EXPECT_NEAR(ExecutedOf(generated.ensemble.programs.at(0)) / ModelFlops(*model.layer_list(), 64),
                1, 1e-3)
        << name;
  }
}

// 25,557,032 parameters of 4 bytes.
TEST(ListedModelsTest, GradientsOfAResnetAreSummedOnce) {
  Plan plan;
  plan.dp = 8;
  const Model model{"resnet50", ConvolutionalNetwork("resnet50", DataType::kBf16).value()};
  Job job = JobOf({.model = model, .plan = plan, .micro_batch = 32, .microbatches = 2});
  job.framework.data_overlap = DataOverlap::kBuckets;
  const GeneratedJob generated = Generate(job, EqualCosts()).value();
  const Program& program = generated.ensemble.programs.at(0);
  EXPECT_EQ(Count(program, {GroupRole::kData, kAllReduce}).bytes, 4 * 25'557'032);
  EXPECT_GT(Count(program, {GroupRole::kData, kAllReduce}).messages, 3);
}

TEST(ListedModelsTest, ListsAreNotCutIntoStages) {
  Plan plan;
  plan.pp = 2;
  const Model model{"vgg16", ConvolutionalNetwork("vgg16", DataType::kBf16).value()};
  const auto generated = Generate(JobOf({.model = model, .plan = plan}), EqualCosts());
  ASSERT_FALSE(generated.has_value());
  EXPECT_NE(generated.error().message().find("plan.pp"), std::string::npos);
}

/// Eight tables of 1,000 rows, 16 wide, one of which is looked up 4 times a sample, the others
/// once.
Dlrm SmallDlrm() {
  Dlrm model;
  model.dense_features = 13;
  model.bottom = {64, 16};
  model.top = {32, 1};
  model.tables.assign(8, {.rows = 1000, .dim = 16, .pool = 1});
  model.tables[0].pool = 4;
  return model;
}

GeneratedJob DlrmOn(int ranks, TableSharding tables) {
  Plan plan;
  plan.dp = ranks;
  plan.tables = tables;
  return Generate(JobOf({.model = {"dlrm", SmallDlrm()}, .plan = plan, .micro_batch = 128}),
                  EqualCosts())
      .value();
}

// Four ranks with two tables each: a rank sends the vectors of 4 · 128 samples of its 2 tables, 16
// wide, 2 bytes; gradients come back the same way.
TEST(ListedModelsTest, WholeTablesExchangePooledVectors) {
  const GeneratedJob job = DlrmOn(4, TableSharding::kTable);
  std::int64_t bytes = 0;
  for (const ProgramId id : job.ensemble.program_of_rank) {
    const CommunicationCount count =
        Count(job.ensemble.programs[id], {GroupRole::kTables, kAllToAll});
    EXPECT_EQ(count.messages, 2);
    bytes += count.bytes;
  }
  EXPECT_EQ(bytes, 2 * (4 * 128) * 8 * 16 * 2);
}

// The rank with the table of four lookups has fewer tables: it runs another program.
TEST(ListedModelsTest, RanksWithOtherTablesRunOtherPrograms) {
  const GeneratedJob uneven = DlrmOn(4, TableSharding::kTable);
  const std::set<ProgramId> programs(uneven.ensemble.program_of_rank.begin(),
                                     uneven.ensemble.program_of_rank.end());
  EXPECT_GT(programs.size(), 1U);
  EXPECT_EQ(DlrmOn(4, TableSharding::kColumn).ensemble.programs.size(), 1U);
}

// A table of three rows has no rows on the fourth rank, whose partial sums of it are zeros: all
// give the vectors of 4 · 128 samples and 8 tables, 16 wide, 2 bytes, as a reduce-scatter demands.
TEST(ListedModelsTest, RanksWithoutRowsOfATableSumAsManyVectors) {
  Dlrm model = SmallDlrm();
  model.tables[0].rows = 3;
  Plan plan;
  plan.dp = 4;
  plan.tables = TableSharding::kRow;
  const GeneratedJob job =
      Generate(JobOf({.model = {"dlrm", model}, .plan = plan, .micro_batch = 128}), EqualCosts())
          .value();
  for (const ProgramId id : job.ensemble.program_of_rank) {
    const Program& program = job.ensemble.programs[id];
    EXPECT_EQ(Count(program, {GroupRole::kTables, kReduceScatter}).bytes, (4 * 128) * 8 * 16 * 2);
    EXPECT_EQ(Count(program, {GroupRole::kTables, kAllGather}).bytes, (4 * 128) * 8 * 16 * 2);
  }
}

// Columns: every rank has 4 of 16 columns of all tables. Rows: partial sums of all tables, summed
// and scattered; gradients gathered.
TEST(ListedModelsTest, RowsAndColumnsExchangeVectorsOfAllTables) {
  const GeneratedJob columns = DlrmOn(4, TableSharding::kColumn);
  EXPECT_EQ(Count(columns.ensemble.programs.at(0), {GroupRole::kTables, kAllToAll}),
            (CommunicationCount{2, 2 * (4 * 128) * 8 * 4 * 2}));
  const GeneratedJob rows = DlrmOn(4, TableSharding::kRow);
  const Program& program = rows.ensemble.programs.at(0);
  EXPECT_EQ(Count(program, {GroupRole::kTables, kReduceScatter}),
            (CommunicationCount{1, (4 * 128) * 8 * 16 * 2}));
  EXPECT_EQ(Count(program, {GroupRole::kTables, kAllGather}),
            (CommunicationCount{1, (4 * 128) * 8 * 16 * 2}));
}

// The networks are replicated: 13·64 + 64 + 64·16 + 16 and, behind 16 + 9·8/2 numbers, 52·32 + 32 +
// 32 + 1. Tables are not: each rank holds its part.
TEST(ListedModelsTest, OnlyTheNetworksAreReplicated) {
  const std::int64_t networks = 13 * 64 + 64 + 64 * 16 + 16 + 52 * 32 + 32 + 32 + 1;
  EXPECT_EQ(InteractionWidth(SmallDlrm()), 52);
  const GeneratedJob job = DlrmOn(4, TableSharding::kColumn);
  const Program& program = job.ensemble.programs.at(0);
  EXPECT_EQ(Count(program, {GroupRole::kData, kAllReduce}).bytes, 4 * networks);
  EXPECT_EQ(HeldOf(program, "embedding tables"), 8 * 1000 * 4 * 2);
  EXPECT_EQ(HeldOf(program, "parameters"), 2 * networks);
}

TEST(ListedModelsTest, OneRankExchangesNothing) {
  const GeneratedJob job = DlrmOn(1, TableSharding::kTable);
  EXPECT_EQ(Count(job.ensemble.programs.at(0), {GroupRole::kTables}).messages, 0);
}

}  // namespace
}  // namespace orrery::workload
