#include "orrery/calibrate/collectives/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/calibrate/collectives/evaluation.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/hardware/cluster.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/interval.h"

namespace orrery::calibrate {
namespace {

using collective::Constant;
using collective::DefaultConstants;
using collective::FabricOf;
using collective::kLeastBytes;
using collective::kMostFitted;
using collective::MachineModel;
using collective::MachineModels;
using collective::Measurement;
using collective::ModelMatch;
using collective::NewestTunerTables;
using ::testing::HasSubstr;

/// The rows that nccl-tests would print of a machine that keeps to the closed form.
std::vector<Measurement> RowsOf(const MachineModel& model, const std::vector<int>& gpus,
                                double noise) {
  std::vector<Measurement> rows;
  learn::Random random(3);
  for (const int count : gpus) {
    for (std::int64_t bytes = 1024; bytes <= (std::int64_t{1} << 30); bytes *= 2) {
      Measurement row;
      row.source = model.source;
      row.cluster = hardware::FindCluster(model.machine);
      row.gpus = count;
      row.request = {CollectiveKind::kAllReduce, Bytes{bytes}, DataType::kFp32};
      row.fabric = *FabricOf(*row.cluster, {.gpus = count});
      row.nccl_version = model.nccl_version;
      row.seconds = *PredictRow(model, row) * std::exp(noise * (2 * random.Uniform() - 1));
      rows.push_back(row);
    }
  }
  return rows;
}

MachineModel SomeMachine() {
  MachineModel model;
  model.machine = hardware::FindCluster("azure nd a100 v4")->name;
  model.source = "a test";
  model.nccl_version = NewestTunerTables().version;
  model.constants = DefaultConstants();
  model.constants.Set(Constant::kStart, 9);
  model.constants.Set(Constant::kSimpleStart, 45);
  model.constants.Set(Constant::kLinkShare, 0.9);
  model.constants.Set(Constant::kNetworkShare, 0.62);
  model.constants.Set(Constant::kLlNetworkHop, 7);
  return model;
}

std::vector<const Measurement*> PointersTo(const std::vector<Measurement>& rows) {
  std::vector<const Measurement*> pointers;
  for (const Measurement& row : rows) {
    pointers.push_back(&row);
  }
  return pointers;
}

TEST(MachineCalibration, FindsTheConstantsOfAMachine) {
  const std::vector<Measurement> rows = RowsOf(SomeMachine(), {2, 4, 8, 16, 32}, 0);
  const Result<MachineCalibration> fit = CalibrateMachine(PointersTo(rows));
  ASSERT_TRUE(fit.has_value());
  EXPECT_LE(fit->model.fitted.size(), kMostFitted);
  EXPECT_NEAR(fit->model.constants[Constant::kStart], 9, 0.5);
  EXPECT_NEAR(fit->model.constants[Constant::kNetworkShare], 0.62, 0.01);
  EXPECT_NEAR(fit->model.constants[Constant::kLinkShare], 0.9, 0.02);
  EXPECT_LT(fit->all.mape, 1);
  EXPECT_TRUE(fit->outliers.empty());
}

TEST(MachineCalibration, ListsOutliersAndIsNotMovedByThem) {
  std::vector<Measurement> rows = RowsOf(SomeMachine(), {2, 4, 8, 16, 32}, 0.02);
  rows[5].seconds *= 4;
  rows[60].seconds *= 3;
  const Result<MachineCalibration> fit = CalibrateMachine(PointersTo(rows));
  ASSERT_TRUE(fit.has_value());
  ASSERT_EQ(fit->outliers.size(), 2);
  EXPECT_EQ(fit->outliers[0].row, &rows[5]);
  EXPECT_EQ(fit->outliers[1].row, &rows[60]);
  EXPECT_NEAR(fit->model.constants[Constant::kNetworkShare], 0.62, 0.02);
}

TEST(MachineCalibration, SpeaksForMoreGpusThanItHasSeen) {
  const std::vector<Measurement> rows = RowsOf(SomeMachine(), {2, 4, 8, 16, 32, 64, 128}, 0.02);
  const Result<CollectiveEvaluation> evaluation =
      EvaluateCollectivesHeldOut(rows, kLeastBytes, *CollectiveSplitRule::Parse("above:gpus:32"));
  ASSERT_TRUE(evaluation.has_value());
  EXPECT_EQ(evaluation->groups.size(), 2);
  EXPECT_LT(evaluation->overall.mape, 6);
  // Two nodes do not identify the hop between them, which small rows depend on.
  const Result<CollectiveEvaluation> of_two_nodes =
      EvaluateCollectivesHeldOut(rows, 64'000'000, *CollectiveSplitRule::Parse("above:gpus:16"));
  ASSERT_TRUE(of_two_nodes.has_value());
  EXPECT_LT(of_two_nodes->overall.mape, 6);
}

TEST(MachineCalibration, FewRowsAreRejected) {
  const std::vector<Measurement> rows = RowsOf(SomeMachine(), {2}, 0);
  const std::vector<Measurement> first(rows.begin(), rows.begin() + 3);
  const std::vector<const Measurement*> few = PointersTo(first);
  const Result<MachineCalibration> fit = CalibrateMachine({few.data(), few.size()});
  ASSERT_FALSE(fit.has_value());
  EXPECT_THAT(fit.error().message(), HasSubstr("too few to fit constants"));
}

/// 21 rows for each number of GPUs.
std::vector<Measurement> RowsOfMachine(std::string_view cluster, const std::vector<int>& gpus) {
  MachineModel model = SomeMachine();
  model.machine = hardware::FindCluster(cluster)->name;
  return RowsOf(model, gpus, 0);
}

TEST(MachineCalibration, SmallMachinesShareTheConstantsOfTheirClass) {
  std::vector<Measurement> rows = RowsOfMachine("azure nd a100 v4", {16});
  for (const std::string_view cluster : {"selene", "aws p4de"}) {
    std::ranges::copy(RowsOfMachine(cluster, {16}), std::back_inserter(rows));
  }
  // Another network is another class.
  const std::vector<MachineClass> classes = ClassesOf(rows);
  ASSERT_EQ(classes.size(), 2);
  const auto is_pair = [](const MachineClass& machines) { return machines.size() == 2; };
  const auto pair = std::ranges::find_if(classes, is_pair);
  ASSERT_NE(pair, classes.end());
  const Result<std::vector<MachineCalibration>> fits = CalibrateMachineClass(*pair, false);
  ASSERT_TRUE(fits.has_value()) << fits.error().message();
  ASSERT_EQ(fits->size(), 2);
  EXPECT_NE((*fits)[0].model.machine, (*fits)[1].model.machine);
  for (const MachineCalibration& fit : *fits) {
    EXPECT_EQ(fit.model.machines_of_class, 2);
    EXPECT_EQ(fit.model.rows, 21);
    EXPECT_EQ(fit.model.constants[Constant::kNetworkShare],
              (*fits)[0].model.constants[Constant::kNetworkShare]);
  }
  // 21 rows of a class are too few, unless there is nothing else to fit.
  const auto single = std::ranges::find_if_not(classes, is_pair);
  const Result<std::vector<MachineCalibration>> few = CalibrateMachineClass(*single, false);
  ASSERT_FALSE(few.has_value());
  EXPECT_THAT(few.error().message(), HasSubstr("21 rows of its class (1 machines) are too few"));
  EXPECT_TRUE(CalibrateMachineClass(*single, true).has_value());
}

TEST(MachineCalibration, AMachineWithManyRowsHasConstantsOfItsOwn) {
  std::vector<Measurement> rows = RowsOfMachine("azure nd a100 v4", {8, 16});
  std::ranges::copy(RowsOfMachine("selene", {16}), std::back_inserter(rows));
  const std::vector<MachineClass> classes = ClassesOf(rows);
  ASSERT_EQ(classes.size(), 2);
  EXPECT_EQ(classes[0].size(), 1);
  EXPECT_EQ(classes[1].size(), 1);
}

TEST(MachineModels, RowsOfSeveralNodesDoNotSpeakForLinksInsideOfOne) {
  MachineModels models;
  MachineModel on_nodes = SomeMachine();
  on_nodes.fewest_gpus = 16;
  on_nodes.most_gpus = 32;
  models.Add(on_nodes);
  MachineModel inside = SomeMachine();
  inside.machine = hardware::FindCluster("dgx a100")->name;
  inside.most_gpus = 8;
  models.Add(inside);
  const hardware::Cluster* const azure = hardware::FindCluster("azure nd a100 v4");
  EXPECT_EQ(models.Find({.cluster = azure, .gpus = 8}).model->machine, inside.machine);
  EXPECT_EQ(models.Find({.cluster = azure, .gpus = 64}).model->machine, on_nodes.machine);
  EXPECT_EQ(models.Find({.cluster = azure, .gpus = 64, .is_unseen = true}).model->machine,
            inside.machine);
}

// Four of five measured times lie within 1.2816 deviations: exp(1.2816 · 0.1) = 1.1367.
TEST(MachineModels, TheDeviationDependsOnSizeAndOnWhoseConstantsTheyAre) {
  MachineModel model = SomeMachine();
  model.small_deviation = 0.2;
  model.large_deviation = 0.1;
  EXPECT_EQ(model.DeviationAt(1 << 10, false), 0.2);
  EXPECT_EQ(model.DeviationAt(1 << 30, false), 0.1);
  EXPECT_GT(model.DeviationAt(1 << 10, true), 0.2);
  EXPECT_GT(model.DeviationAt(1 << 30, true), 0.1);
  const learn::TimeInterval interval = learn::IntervalAround(2, model.DeviationAt(1 << 30, false));
  EXPECT_NEAR(interval.high_s, 2 * 1.1367, 1e-3);
  EXPECT_NEAR(interval.low_s, 2 / 1.1367, 1e-3);
}

TEST(MachineModels, AFileReadsBackAsItself) {
  MachineModels models;
  MachineModel model = SomeMachine();
  model.fitted = {Constant::kStart, Constant::kNetworkShare};
  model.rows = 128;
  model.most_gpus = 32;
  models.Add(model);
  const Result<MachineModels> again = MachineModels::Parse(models.Text(), "x.yaml");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->Text(), models.Text());
  EXPECT_DOUBLE_EQ(again->all()[0].constants[Constant::kNetworkShare], 0.62);
}

TEST(MachineModels, NamesOfSourcesCannotChangeTheFile) {
  MachineModels models;
  MachineModel model = SomeMachine();
  model.source = "a \"test\"\n    rows: 7 # \\ {x: y}";
  model.setup = "tab\there";
  model.rows = 128;
  models.Add(model);
  const Result<MachineModels> again = MachineModels::Parse(models.Text(), "x.yaml");
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(again->all()[0].source, model.source);
  EXPECT_EQ(again->all()[0].setup, model.setup);
  EXPECT_EQ(again->all()[0].rows, 128);
}

TEST(MachineModels, WhatIsWrongIsSaid) {
  const auto error_of = [](const std::string& text) {
    const Result<MachineModels> models = MachineModels::Parse(text, "x.yaml");
    return models ? std::string() : models.error().message();
  };
  EXPECT_THAT(error_of("a: [1"), HasSubstr("x.yaml"));
  EXPECT_THAT(error_of("a: 1"), HasSubstr("not a model of collectives"));
  EXPECT_THAT(error_of("format: orrery collective model\nversion: 7\n"),
              HasSubstr("version 7 of the format"));
  EXPECT_THAT(error_of("format: orrery collective model\nversion: 1\nmachines:\n  - rows: 3\n"),
              HasSubstr("x.yaml:4"));
  const std::string head = "format: orrery collective model\nversion: 1\n";
  for (const char* machines : {"", "machines:\n", "machines: 5\n", "machines: {a: 1}\n"}) {
    EXPECT_THAT(error_of(head + machines), HasSubstr("machines must be a list")) << machines;
  }
  EXPECT_THAT(error_of(head + "machines: [5]\n"), HasSubstr("x.yaml:3: a machine needs"));
  EXPECT_THAT(error_of("{format: orrery collective model, version: [1]}"),
              HasSubstr("version ? of the format"));
}

TEST(MachineModels, ConstantsAreAMappingOfKnownNames) {
  MachineModels models;
  models.Add(SomeMachine());
  const auto error_of = [&](const std::string& constants) {
    std::string text = models.Text();
    text.replace(text.find("constants:"), std::string::npos, "constants: " + constants + "\n");
    const Result<MachineModels> parsed = MachineModels::Parse(text, "x.yaml");
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_EQ(error_of(""), "");  // a machine for which nothing was fitted
  EXPECT_EQ(error_of("{start_us: 5}"), "");
  EXPECT_THAT(error_of("5"), HasSubstr("x.yaml:17: constants must map names to numbers"));
  EXPECT_THAT(error_of("[start_us]"), HasSubstr("constants must map names to numbers"));
  EXPECT_THAT(error_of("{strat: 5}"), HasSubstr("no constant is called 'strat'"));
  EXPECT_THAT(error_of("{[1]: 5}"), HasSubstr("no constant is called ''"));
  EXPECT_THAT(error_of("{start_us: [5]}"), HasSubstr("start_us is outside"));
}

// A write that was cut off: at every byte the file is refused, or its machines are whole.
TEST(MachineModels, ATruncatedFileDoesNotThrow) {
  MachineModels models;
  MachineModel model = SomeMachine();
  model.fitted = {Constant::kStart, Constant::kNetworkShare};
  models.Add(model);
  models.Add(model);
  const std::string text = models.Text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Result<MachineModels> read = MachineModels::Parse(text.substr(0, size), "x.yaml");
    EXPECT_TRUE(read ? !read->all().empty() : !read.error().message().empty()) << size;
  }
}

TEST(MachineModels, TheNearestMachineAnswersForAnUnknownOne) {
  MachineModels models;
  MachineModel ampere = SomeMachine();
  models.Add(ampere);
  MachineModel hopper = SomeMachine();
  hopper.machine = hardware::FindCluster("dgx h100")->name;
  models.Add(hopper);
  const auto find = [&](std::string_view cluster, std::string_view source) {
    return models.Find({.cluster = hardware::FindCluster(cluster), .source = source});
  };
  EXPECT_EQ(find("azure nd a100 v4", "a test").match, ModelMatch::kSource);
  EXPECT_EQ(find("azure nd a100 v4", "another").match, ModelMatch::kMachine);
  EXPECT_EQ(find("dgx h200", "another").match, ModelMatch::kNearest);
  EXPECT_EQ(find("dgx h200", "another").model->machine, hopper.machine);
  EXPECT_EQ(MachineModels().Find({.cluster = hardware::FindCluster("dgx h200")}).model->source,
            "defaults");
}

TEST(MachineModels, OneNodeAndSeveralAskDifferentModels) {
  MachineModels models;
  MachineModel inside = SomeMachine();
  inside.source = "one node";
  inside.most_gpus = 8;
  MachineModel across = SomeMachine();
  across.source = "two nodes";
  across.most_gpus = 16;
  models.Add(inside);
  models.Add(across);
  const hardware::Cluster* cluster = hardware::FindCluster("azure nd a100 v4");
  EXPECT_EQ(models.Find({.cluster = cluster, .gpus = 4}).model->source, "one node");
  EXPECT_EQ(models.Find({.cluster = cluster, .gpus = 64}).model->source, "two nodes");
}

TEST(CollectiveSplitRule, ReadsWhatPeopleWrite) {
  EXPECT_EQ(CollectiveSplitRule::Parse("above:gpus:16")->most_gpus, 16);
  EXPECT_DOUBLE_EQ(CollectiveSplitRule::Parse("random:25:seed=7")->share, 0.25);
  EXPECT_EQ(CollectiveSplitRule::Parse("random:25:seed=7")->seed, 7);
  for (const std::string_view text :
       {"", "random", "random:0", "above:gpus:", "random:20:seed=x"}) {
    EXPECT_FALSE(CollectiveSplitRule::Parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace orrery::calibrate
