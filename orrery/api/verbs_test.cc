#include "orrery/api/verbs.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/api/any_verb.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/clock/clock_alignment.h"

namespace orrery::api {
namespace {

using testing::HasSubstr;

// Each property has a description, so that tools that read the schema can show it.
void ExpectDescribed(std::string_view verb, const Value& schema) {
  const Value* const properties = schema.Find("properties");
  ASSERT_NE(properties, nullptr) << verb;
  EXPECT_FALSE(properties->fields().empty()) << verb;
  for (const auto& [name, property] : properties->fields()) {
    EXPECT_NE(property.Find("description"), nullptr) << verb << " " << name;
  }
}

TEST(VerbsTest, EveryVerbDescribesItsRequestAndItsResult) {
  std::set<std::string_view> verbs;
  for (const AnyVerb& verb : Verbs()) {
    EXPECT_TRUE(verbs.insert(verb.name).second) << verb.name;
    ExpectDescribed(verb.name, verb.request_schema());
    ExpectDescribed(verb.name, verb.result_schema());
  }
}

TEST(VerbsTest, AnUnknownVerbIsNamed) {
  EXPECT_TRUE(VerbNamed("simulate"));
  EXPECT_THAT(VerbNamed("dance").error().message(), HasSubstr("'dance' is not a verb"));
}

TEST(VerbsTest, RequestsAndAnswersAreData) {
  const AnyVerb& verb = **VerbNamed("predict kernel");
  const AnyRequest request{.fields =
                               Value::Object()
                                   .Set("operators", Value::List().Add("gemm m=64 n=64 k=64 bf16"))
                                   .Set("gpu", "H100")};
  const auto answer = verb.call(Session(), request);
  ASSERT_TRUE(answer) << answer.error().message();

  EXPECT_EQ(answer->outcome, Outcome::kComplete);
  const Value* const kernels = answer->data.Find("kernels");
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(kernels->items().size(), 1);
  EXPECT_THAT(
      verb.call(Session(), {.fields = Value::Object().Set("gpus", "H100")}).error().message(),
      HasSubstr("did you mean 'gpu'"));
}

TEST(VerbsTest, EachNumberOfAListIsInItsRange) {
  const AnyRequest request{.fields =
                               Value::Object()
                                   .Set("paths", Value::List().Add("nowhere.orrs"))
                                   .Set("oversubscription", Value::List().Add(2.0).Add(0.001))};
  EXPECT_THAT((**VerbNamed("memory")).call(Session(), request).error().message(),
              HasSubstr("oversubscription: 0.001 is not between 0.01 and 1e+06"));
}

TEST(VerbsTest, ARunOfTheCallerStandsForItsPath) {
  analyze::test_run::Rank rank(0);
  rank.Step(1, {0, 100}).Kernel("a_kernel", {10, 40}, 7, rank.Call({2, 4}));
  const auto run = std::make_shared<ingest::Run>();
  run->set.ranks.push_back(rank.Finish());
  const SharedRun shared{run,
                         std::make_shared<const trace::AlignedRun>(trace::MatchAndAlign(run->set))};
  AnyRequest request{.fields = Value::Object().Set("paths", Value::List().Add("mine"))};
  request.shared_run = [&](const std::string& path) {
    return path == "mine" ? shared : SharedRun();
  };
  for (const char* const verb : {"info", "analyze"}) {
    const auto answer = (**VerbNamed(verb)).call(Session(), request);
    EXPECT_TRUE(answer) << answer.error().message();
  }
  request.fields.Set("align", "off");
  EXPECT_THAT((**VerbNamed("analyze")).call(Session(), request).error().message(),
              HasSubstr("another choice of align"));
}

TEST(VerbsTest, AJobThatDoesNotFitIsAnOutcome) {
  const AnyRequest request{.fields =
                               Value::Object().Set("job_yaml",
                                                   "{model: llama3-70b, gpus: 8, cluster: DGX "
                                                   "H100, training: {sequence: 4096, "
                                                   "global_batch: 8, micro_batch: 1}}")};
  const auto answer = (**VerbNamed("simulate")).call(Session(), request);
  ASSERT_TRUE(answer) << answer.error().message();

  EXPECT_EQ(answer->outcome, Outcome::kOutOfMemory);
  EXPECT_TRUE(answer->write_trace);
}

}  // namespace
}  // namespace orrery::api
