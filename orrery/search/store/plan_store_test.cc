#include "orrery/search/store/plan_store.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/search.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/search/space.h"

namespace orrery::search {
namespace {

using Mode = PlanStore::Mode;
using testing::HasSubstr;

class PlanStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("orrery_store_{}", getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "plans.orrdb";
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<PlanStore> Open(Mode mode, const StoreIdentity& identity) const {
    return PlanStore::Open(path_.string(), identity, mode);
  }

  Result<PlanStore> Open(Mode mode) const { return Open(mode, identity_); }

  void Write(const std::string& bytes) const { std::ofstream(path_) << bytes; }

  void Execute(const char* text) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(connection);
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  StoreIdentity identity_{.program = "orrery 1", .models = "shipped", .space = 7};
};

/// Bounds and simulates nothing: all results come from a store.
class FrugalDealer : public WorkDealer {
 public:
  [[nodiscard]] bool is_root() const override { return true; }

  [[nodiscard]] int num_workers() const override { return 1; }

  [[nodiscard]] Status Run(std::span<const std::string> requests, const Work& work,
                           const Done& done) override {
    for (const std::string& request : requests) {
      if (request.front() == 'S' || request.front() == 'P') {
        return Invalid("it is in the store");
      }
    }
    return threads_.Run(requests, work, done);
  }

  [[nodiscard]] Status Serve(const Work& /*work*/) override { return {}; }

 private:
  ThreadDealer threads_{1};
};

TEST_F(PlanStoreTest, KeepsBoundsAndPlansWhenItIsClosed) {
  const Result<Space> space =
      SmallSpace(SmallJobText("megatron-lm", false, "search: {plan.tp: [2, 4]}\n"));
  ASSERT_TRUE(space);
  const BoundedPlan bounded{.id = 1, .bound_ps = 4, .memory_bytes = 5};
  const PlanBounds plan_bounds{
      .considered = 2, .refused = 1, .first_refusal = "no", .plans = {bounded}};
  const SimulatedPlan simulated{.id = 1, .step_ps = 12, .memory_bytes = 9, .joules = 0.1};
  {
    Result<PlanStore> store = Open(Mode::kNew);
    ASSERT_TRUE(store) << store.error().message();
    ASSERT_TRUE(store->Keep(0, 2, plan_bounds));
    ASSERT_TRUE(store->Keep(*space, bounded, simulated));
  }
  Result<PlanStore> store = Open(Mode::kResume);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(*store->FindBounds(0, 2), plan_bounds);
  EXPECT_EQ(*store->FindBounds(0, 3), std::nullopt);  // another range
  EXPECT_EQ(*store->FindSimulatedPlan(1), simulated);
  EXPECT_EQ(*store->FindSimulatedPlan(0), std::nullopt);
}

TEST_F(PlanStoreTest, ASearchGoesOnWhereAnotherEnded) {
  const Result<Space> space = SmallSpace(
      SmallJobText("megatron-lm", false,
                   "search: {plan.tp: [2, 4], plan.pp: [1, 2], plan.sharding: [zero1, zero3]}\n"));
  ASSERT_TRUE(space);
  const RooflineCosts costs;
  PlanEvaluation evaluation(*space, costs, {});
  Result<PlanStore> store = Open(Mode::kNew);
  ASSERT_TRUE(store) << store.error().message();
  const SearchOptions options{.keep = 3, .store = &*store};
  ThreadDealer threads(2);
  const Result<SearchResult> first = Search(evaluation, threads, options);
  ASSERT_TRUE(first) << first.error().message();
  FrugalDealer frugal;
  const Result<SearchResult> again = Search(evaluation, frugal, options);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->considered, first->considered);
  ASSERT_EQ(again->best.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again->best[i].simulated, first->best[i].simulated);
  }
}

TEST_F(PlanStoreTest, RefusesWhatOthersMadeUnlessTold) {
  ASSERT_TRUE(Open(Mode::kNew));

  struct Case {
    StoreIdentity identity;
    const char* message;
  };

  StoreIdentity version = identity_;
  version.program = "orrery 2";
  StoreIdentity models = identity_;
  models.models = "f00d";
  StoreIdentity space = identity_;
  space.space = 8;
  for (const auto& [identity, message] :
       {Case{version, "another version of the program (orrery 1; this is orrery 2)"},
        Case{models, "other models"}, Case{space, "another job or space"}}) {
    const Result<PlanStore> store = Open(Mode::kResume, identity);
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message(), HasSubstr(message));
    EXPECT_THAT(store.error().message(), HasSubstr("--anyway"));
  }
  EXPECT_TRUE(Open(Mode::kAnyway, version));
  EXPECT_TRUE(Open(Mode::kResume, version));
  EXPECT_FALSE(Open(Mode::kResume, identity_));
}

TEST_F(PlanStoreTest, RefusesToBeginASecondSearch) {
  ASSERT_TRUE(Open(Mode::kNew));
  const Result<PlanStore> store = Open(Mode::kNew);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("--resume continues it"));
}

TEST_F(PlanStoreTest, SaysWhoHoldsIt) {
  std::optional<PlanStore> store = *Open(Mode::kNew);
  const Result<PlanStore> second = Open(Mode::kResume);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr(fmt::format("process {} on ", getpid())));
  store.reset();
  EXPECT_TRUE(Open(Mode::kResume));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".lock"));
}

TEST_F(PlanStoreTest, LeavesOtherFilesAlone) {
  Write("a text, not a database, and long enough to have a header of SQLite's size: " +
        std::string(200, '.'));
  const Result<PlanStore> text = Open(Mode::kAnyway);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message(), HasSubstr("no store of plans"));

  std::filesystem::remove(path_);
  Execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER)");
  const Result<PlanStore> trace = Open(Mode::kAnyway);
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message(), HasSubstr("no store of plans"));
}

TEST_F(PlanStoreTest, SaysThatAnOlderFormatCannotBeUsed) {
  ASSERT_TRUE(Open(Mode::kNew));
  Execute("PRAGMA user_version=1");
  const Result<PlanStore> store = Open(Mode::kResume);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("another format"));
  EXPECT_FALSE(ReadStore(path_.string()));
  EXPECT_TRUE(Open(Mode::kAnyway));
  EXPECT_TRUE(Open(Mode::kResume));
}

TEST_F(PlanStoreTest, AFolderThatIsNotThereIsASentence) {
  path_ = folder_ / "absent" / "plans.orrdb";
  const Result<PlanStore> store = Open(Mode::kNew);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace orrery::search
