#include "orrery/api/fit.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/any_verb.h"
#include "orrery/api/fields.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/session.h"
#include "orrery/api/verbs.h"
#include "orrery/base/document/value.h"
#include "test_paths.h"

namespace orrery::api {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::string kCollectives = ORRERY_TEST_DATA "/collectives/made.csv";

std::string TemporaryFile(std::string_view name) {
  return testing::TempDir() + "orrery_fit_" + std::string(name);
}

std::string Written(std::string_view name, std::string_view text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path) << text;
  return path;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Three systems of other submitters, 60 steps of a second each. A twentieth and the last one of
// each are left out: 3 and 1.
std::string Steps() {
  std::string table = "system,benchmark,run,step,seconds,steps_in_window,gpu,gpus\n";
  for (const char submitter : std::string_view("ABC")) {
    for (int step = 0; step < 60; ++step) {
      table += fmt::format("{}/one,made,0,{},{},1,H200,16\n", submitter, step,
                           1 + 0.004 * ((step * 37 + submitter) % 101 - 50) / 50);
    }
  }
  return table;
}

TEST(FitTest, JitterCountsTheRecordsOfTheTable) {
  const FitJitterRequest request{.path = Written("steps.csv", Steps()),
                                 .output = TemporaryFile("jitter.yaml")};
  const auto result = FitJitter(Session(), request);
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_EQ(result->records, 180);
  EXPECT_EQ(result->in_warm_up, 9);
  EXPECT_EQ(result->at_the_end, 3);
  EXPECT_EQ(result->systems, 3);
  EXPECT_EQ(result->submitters, 3);
  EXPECT_GT(result->step_sigma, 0);
  EXPECT_THAT(TextOf(request.output), HasSubstr("gpus: [H200]"));
  EXPECT_THAT(FitText(*result), StartsWith("180 records; not used: 9 at the beginning of runs"));
  EXPECT_TRUE(MakeDocument(*result).data == ToObject(*result));
}

TEST(FitTest, RowsThatCannotBeUsedMakeAFitPartial) {
  const FitCollectivesRequest request{.paths = {kCollectives},
                                      .output = TemporaryFile("made.yaml")};
  const auto result = FitCollectives(Session(), request);
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_TRUE(result->is_partial);
  EXPECT_EQ(result->rejected_rows, 2);
  ASSERT_THAT(result->notices, SizeIs(1));
  EXPECT_THAT(result->notices.front(), StartsWith("not used:\n" + kCollectives + ":42: "));
  ASSERT_THAT(result->machines, SizeIs(1));
  const FittedMachine& machine = result->machines.front();
  EXPECT_EQ(machine.machine, "Azure ND A100 v4");
  EXPECT_EQ(machine.rows, 40);
  EXPECT_EQ(machine.most_gpus, 32);
  EXPECT_THAT(machine.outliers, SizeIs(2));
  EXPECT_EQ(machine.outliers.front().line, 16);
  EXPECT_FALSE(machine.constants.empty());
  EXPECT_THAT(TextOf(request.output), HasSubstr("machine: \"Azure ND A100 v4\""));
}

TEST(FitTest, AnErrorNamesTheFileThatIsMissing) {
  const std::string absent = TemporaryFile("absent.csv");
  std::filesystem::remove(absent);
  const Session session;
  const std::string output = TemporaryFile("none");
  EXPECT_THAT(FitJitter(session, {.path = absent}).error().message(), HasSubstr(absent));
  EXPECT_THAT(FitKernels(session, {.paths = {absent}, .output = output}).error().message(),
              HasSubstr(absent));
  EXPECT_THAT(FitHost(session, {.paths = {absent}, .output = output}).error().message(),
              HasSubstr(absent));
  EXPECT_THAT(
      FitOverlapFromTraces(session, {.from_traces = {absent, kCollectives}}).error().message(),
      HasSubstr(absent));
}

TEST(FitTest, ARequestNamesWhatIsReadAndWritten) {
  const Session session;
  EXPECT_THAT(FitSiblings(session, {.output = "a"}).error().message(), StartsWith("paths: "));
  EXPECT_THAT(FitPower(session, {.paths = {kCollectives}}).error().message(),
              StartsWith("output: "));
  EXPECT_THAT(FitFrameworks(session, {}).error().message(), StartsWith("paths: "));
  EXPECT_THAT(FitOverlap(session, {.paths = {kCollectives}}).error().message(),
              HasSubstr("the model to write"));
  EXPECT_THAT(FitOverlapFromTraces(session, {.from_traces = {"a"}}).error().message(),
              HasSubstr("these are 1"));
}

TEST(FitTest, ASetFlagCancelsAFit) {
  const std::atomic<bool> stop = true;
  const auto result = FitCollectives(Session(), {.paths = {kCollectives},
                                                 .output = TemporaryFile("cancelled.yaml"),
                                                 .call = {.stop = &stop}});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), HasSubstr("cancelled"));
}

TEST(FitTest, NoticesAreBesideTheAnswerOfAVerbWithoutTypes) {
  const AnyRequest request{.fields = Value::Object()
                                         .Set("paths", Value::List().Add(kCollectives))
                                         .Set("output", TemporaryFile("any.yaml"))};
  const auto answer = (**VerbNamed("fit collectives")).call(Session(), request);
  ASSERT_TRUE(answer) << answer.error().message();

  EXPECT_EQ(answer->outcome, Outcome::kPartial);
  EXPECT_THAT(answer->notices, SizeIs(1));
  EXPECT_THAT(answer->document.title, StartsWith("Azure ND A100 v4 by made"));
}

}  // namespace
}  // namespace orrery::api
