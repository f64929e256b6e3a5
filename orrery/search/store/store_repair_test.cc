#include "orrery/search/store/store_repair.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/search/store/store_schema.h"

// Stores in which bytes change.

namespace orrery::search {
namespace {

using Mode = PlanStore::Mode;
using testing::HasSubstr;

constexpr PlanId kPlans = 24;
constexpr PlanId kOfRange = 6;

PlanBounds PlanBoundsFrom(PlanId first) {
  PlanBounds plan_bounds = {
      .considered = kOfRange, .refused = 1, .first_refusal = "no", .too_large = 2};
  for (PlanId id = first; id < first + kOfRange; ++id) {
    plan_bounds.plans.push_back({.id = id,
                                 .bound_ps = static_cast<std::int64_t>(100 + id),
                                 .memory_bytes = 1 << 30,
                                 .bound_joules = 0.5});
  }
  plan_bounds.smallest = plan_bounds.plans.front();
  return plan_bounds;
}

SimulatedPlan SimulatedPlanWith(PlanId id) {
  return {.id = id,
          .step_ps = static_cast<std::int64_t>(1000 + id),
          .memory_bytes = 1 << 30,
          .usable_bytes = std::int64_t{1} << 36,
          .joules = 0.25,
          .mfu = 0.5,
          .tokens_per_s = 1e5,
          .samples_per_s = 25,
          .shares = {{.kind = simulate::TimeKind::kTransfer, .what = "dp", .ps = 12}}};
}

std::vector<PlanId> Ranges() {
  return {0, 6, 12, 18};
}

class DamagedStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("orrery_damage_{}", getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "plans.orrdb";
    {
      Result<PlanStore> store = Open(Mode::kNew);
      ASSERT_TRUE(store) << store.error().message();
      const Result<Space> space = SmallSpace(SmallJobText(
          "megatron-lm", false, "search: {plan.tp: [2, 4], training.micro_batch: [1, 2, 4]}\n"));
      ASSERT_TRUE(space) << space.error().message();
      for (const PlanId first : Ranges()) {
        ASSERT_TRUE(store->Keep(first, first + kOfRange, PlanBoundsFrom(first)));
      }
      for (PlanId id = 0; id < kPlans; ++id) {
        ASSERT_TRUE(store->Keep(*space, {.id = id % space->num_ids(), .bound_ps = 100},
                                SimulatedPlanWith(id % space->num_ids())));
      }
      num_plans_ = std::min<PlanId>(kPlans, space->num_ids());
    }
    Execute("PRAGMA wal_checkpoint(TRUNCATE)");
    std::ifstream file(path_, std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(file), {});
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<PlanStore> Open(Mode mode) const {
    return PlanStore::Open(path_.string(), identity_, mode);
  }

  void Write(const std::string& bytes) const {
    std::filesystem::remove(path_.string() + "-wal");
    std::filesystem::remove(path_.string() + "-shm");
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  void Execute(const std::string& text) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << text << ": " << sqlite3_errmsg(connection);
    sqlite3_close(connection);
  }

  // Nothing is found that was not kept.
  static void ExpectOnlySound(PlanStore& store) {
    for (const PlanId first : Ranges()) {
      const auto plan_bounds = store.FindBounds(first, first + kOfRange);
      if (plan_bounds && *plan_bounds) {
        EXPECT_EQ(**plan_bounds, PlanBoundsFrom(first));
      }
    }
    for (PlanId id = 0; id < kPlans; ++id) {
      const auto simulated = store.FindSimulatedPlan(id);
      if (simulated && *simulated) {
        EXPECT_EQ(**simulated, SimulatedPlanWith(id));
      }
    }
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::string whole_;
  PlanId num_plans_ = 0;
  StoreIdentity identity_{.program = "orrery 1", .models = "shipped", .space = 7};
};

// A value of each column of a row is changed, that of metrics as disks do it: zeros and ones in the
// middle.
TEST_F(DamagedStoreTest, DamageOfAnyColumnIsFoundAndOneRecordDropped) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"screenings", "last = last + 1"},
      {"screenings", "considered = considered + 1"},
      {"screenings", "refused = 7"},
      {"screenings", "too_large = NULL"},
      {"screenings",
       "figures = CAST(substr(figures, 1, 60) || zeroblob(40) || "
       "substr(figures, 101) AS BLOB)"},
      {"screenings",
       "figures = CAST(substr(figures, 1, 60) || x'ffffffffffffffff' || "
       "substr(figures, 69) AS BLOB)"},
      {"screenings", "figures = substr(figures, 1, length(figures) - 1)"},
      {"screenings", "checksum = checksum + 1"},
      {"plans", "settings = 'plan.tp=8'"},
      {"plans", "job_hash = upper(job_hash) || ' '"},
      {"plans", "bound_s = 0.0"},
      {"plans", "step_s = step_s / 2"},
      {"plans", "memory_bytes = memory_bytes + 1"},
      {"plans", "usable_bytes = 0"},
      {"plans", "mfu = 1.5"},
      {"plans", "tokens_per_s = -1.0"},
      {"plans", "joules = NULL"},
      {"plans", "refusal = 'no'"},
      {"plans", "figures = zeroblob(length(figures))"},
      {"plans", "checksum = 0"}};
  for (const auto& [table, change] : changes) {
    SCOPED_TRACE(table + ": " + change);
    Write(whole_);
    Execute(
        fmt::format("UPDATE {} SET {} WHERE rowid = {}", table, change, table == "plans" ? 3 : 6));
    const Result<PlanStore> refused = Open(Mode::kResume);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(),
                HasSubstr(fmt::format("(record {} of {})", table == "plans" ? 4 : 2, table)));
    EXPECT_THAT(refused.error().message(), HasSubstr("--repair"));
    if (table == "plans") {
      EXPECT_FALSE(ReadStore(path_.string()));
    }
    Result<PlanStore> repaired = Open(Mode::kRepair);
    ASSERT_TRUE(repaired) << repaired.error().message();
    EXPECT_EQ(repaired->repaired().dropped, 1);
    EXPECT_EQ(repaired->repaired().kept, 3 + num_plans_);
    ExpectOnlySound(*repaired);
  }
}

TEST_F(DamagedStoreTest, ADamagedKeyIsNoOtherPlan) {
  for (const std::string change : {"UPDATE plans SET id = 1000 WHERE id = 3",
                                   "UPDATE screenings SET first = 7 WHERE first = 6",
                                   "UPDATE identity SET value = 'orrery 2' WHERE key = 'program'",
                                   "UPDATE identity SET key = 'spice' WHERE key = 'space'",
                                   "DELETE FROM identity WHERE key = 'models'"}) {
    SCOPED_TRACE(change);
    Write(whole_);
    Execute(change);
    const Result<PlanStore> refused = Open(Mode::kResume);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("damaged"));
    Result<PlanStore> repaired = Open(Mode::kRepair);
    ASSERT_TRUE(repaired) << repaired.error().message();
    EXPECT_EQ(repaired->repaired().dropped, 1);
    ExpectOnlySound(*repaired);
    EXPECT_FALSE(Open(Mode::kNew));  // it is there
  }
}

TEST_F(DamagedStoreTest, AWholeStoreIsLeftAsItIs) {
  const Result<PlanStore> store = Open(Mode::kRepair);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ(store->repaired().dropped, 0);
  EXPECT_EQ(store->repaired().kept, 4 + num_plans_);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".repaired"));
}

TEST_F(DamagedStoreTest, PlansOfAnotherSearchAreNotRepaired) {
  identity_.space = 8;
  const Result<PlanStore> store = Open(Mode::kRepair);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("another job or space"));
}

// Whose they are is not known: they are left alone.
TEST_F(DamagedStoreTest, PlansOfASearchWithoutNameAreNotDropped) {
  Execute("UPDATE identity SET value = 'orrery 2' WHERE key = 'program'");
  identity_.space = 8;
  const Result<PlanStore> store = Open(Mode::kRepair);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message(), HasSubstr("none of its records is of this search"));
  identity_.space = 7;
  EXPECT_TRUE(Open(Mode::kRepair));
}

// Bytes anywhere in the file: it is refused, or what is in it is what was kept; the same once more
// after a repair.
TEST_F(DamagedStoreTest, NoDamageOfTheFileGivesOtherFigures) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::string bytes = whole_;
    const std::size_t begin = MixBits(seed) % bytes.size();
    const std::size_t length = std::size_t{1} << (seed % 12);
    for (std::size_t i = begin; i < std::min(begin + length, bytes.size()); ++i) {
      bytes[i] = seed % 3 == 0   ? '\0'
                 : seed % 3 == 1 ? '\xff'
                                 : static_cast<char>(bytes[i] ^ static_cast<char>(1U << (i % 8)));
    }
    Write(bytes);
    for (const Mode mode : {Mode::kResume, Mode::kRepair}) {
      Result<PlanStore> store = Open(mode);
      if (store) {
        ExpectOnlySound(*store);
      } else {
        EXPECT_THAT(store.error().message(), HasSubstr("plans.orrdb: "));
        refused += mode == Mode::kResume ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 50U);  // most of the file is used
}

}  // namespace
}  // namespace orrery::search
