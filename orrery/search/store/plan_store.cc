#include "orrery/search/store/plan_store.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/store/store_database.h"
#include "orrery/search/store/store_lock.h"
#include "orrery/search/store/store_repair.h"
#include "orrery/search/store/store_schema.h"

namespace orrery::search {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr const char* kOtherFormat = "another format than this program writes";

std::string HashOfJob(const Space& space, const BoundedPlan& bounded, const std::string& settings) {
  const std::string text = space.bases()[bounded.base].yaml + settings;
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

// The types of sound records are those of their columns.
std::int64_t Integer(const Cell& cell) {
  const auto* const value = std::get_if<std::int64_t>(&cell);
  return value == nullptr ? 0 : *value;
}

double Real(const Cell& cell) {
  const auto* const value = std::get_if<double>(&cell);
  return value == nullptr ? 0 : *value;
}

std::string Text(const Cell& cell) {
  const auto* const value = std::get_if<std::string>(&cell);
  return value == nullptr ? std::string() : *value;
}

std::string Figures(const Record& record) {
  const auto* const value = std::get_if<Blob>(&record.back());
  return value == nullptr ? std::string() : value->bytes;
}

Status CheckRecords(StoreDatabase& database, std::uint64_t seed) {
  ORRERY_TRY(const std::string problem, database.StructureProblem());
  if (!problem.empty()) {
    return tl::unexpected(database.Damaged(problem));
  }
  ORRERY_TRY_STATUS(database.CheckAll(kBoundsTable, seed));
  return database.CheckAll(kPlanTable, seed);
}

Status Prepare(StoreDatabase& database, const StoreIdentity& identity, PlanStore::Mode mode) {
  using Mode = PlanStore::Mode;
  ORRERY_TRY(const StoreState state, StateOf(database));
  if (state == StoreState::kEmpty) {
    return CreateStore(database, identity);
  }
  std::string difference = fmt::format("it has {}", kOtherFormat);
  if (state == StoreState::kStore) {
    ORRERY_TRY(const StoreIdentity stored, ReadIdentity(database));
    difference = DifferenceOf(stored, identity);
  }
  if (!difference.empty() && mode != Mode::kAnyway) {
    return Invalid("{}: its plans cannot be used: {}; --anyway removes them and computes all again",
                   database.path(), difference);
  }
  if (!difference.empty()) {
    return CreateStore(database, identity);
  }
  if (mode == Mode::kNew) {
    return Invalid("{}: there is a search already: --resume continues it, or name another file",
                   database.path());
  }
  return CheckRecords(database, SeedOf(identity));
}

}  // namespace

Result<PlanStore> PlanStore::Open(const std::string& path, const StoreIdentity& identity,
                                  Mode mode) {
  ORRERY_TRY(StoreLock lock, StoreLock::Take(path));
  RepairedStore repaired;
  if (mode == Mode::kRepair) {
    ORRERY_TRY(repaired, RepairStore(path, identity));
  }
  ORRERY_TRY(StoreDatabase database, StoreDatabase::Open(path, StoreDatabase::Access::kWrite));
  ORRERY_TRY_STATUS(Prepare(database, identity, mode));
  PlanStore store(std::move(lock), std::move(database), SeedOf(identity));
  store.repaired_ = repaired;
  return store;
}

Result<std::optional<PlanBounds>> PlanStore::FindBounds(PlanId first, PlanId last) {
  ORRERY_TRY(const std::optional<Record> record,
             database_.Find(kBoundsTable, static_cast<std::int64_t>(first), seed_));
  if (!record || std::cmp_not_equal(Integer(record->at(1)), last)) {
    return std::nullopt;
  }
  Result<PlanBounds> plan_bounds = DecodeBounds(Figures(*record));
  if (!plan_bounds) {
    return FailWithin(database_.path(), plan_bounds);
  }
  return *std::move(plan_bounds);
}

Result<std::optional<SimulatedPlan>> PlanStore::FindSimulatedPlan(PlanId id) {
  ORRERY_TRY(const std::optional<Record> record,
             database_.Find(kPlanTable, static_cast<std::int64_t>(id), seed_));
  if (!record) {
    return std::nullopt;
  }
  Result<SimulatedPlan> simulated = DecodeSimulatedPlan(Figures(*record));
  if (!simulated) {
    return FailWithin(database_.path(), simulated);
  }
  return *std::move(simulated);
}

Status PlanStore::Keep(PlanId first, PlanId last, const PlanBounds& plan_bounds) {
  Record record;
  for (const std::uint64_t number :
       {first, last, plan_bounds.considered, plan_bounds.refused, plan_bounds.too_large}) {
    record.emplace_back(static_cast<std::int64_t>(number));
  }
  record.emplace_back(Blob{Encode(plan_bounds)});
  return database_.Insert(kBoundsTable, std::move(record), seed_);
}

Status PlanStore::Keep(const Space& space, const BoundedPlan& bounded,
                       const SimulatedPlan& simulated) {
  const std::string settings = fmt::format("{}", fmt::join(space.SettingsOf(bounded.id), " "));
  return database_.Insert(
      kPlanTable,
      {static_cast<std::int64_t>(bounded.id), settings, HashOfJob(space, bounded, settings),
       static_cast<double>(bounded.bound_ps) / kPicoseconds,
       static_cast<double>(simulated.step_ps) / kPicoseconds, simulated.memory_bytes,
       simulated.usable_bytes, simulated.mfu, simulated.tokens_per_s, simulated.joules,
       simulated.refusal, Blob{Encode(simulated)}},
      seed_);
}

Result<StoredPlans> ReadStore(const std::string& path) {
  ORRERY_TRY(StoreDatabase database, StoreDatabase::Open(path, StoreDatabase::Access::kRead));
  ORRERY_TRY(const StoreState state, StateOf(database));
  if (state != StoreState::kStore) {
    return Invalid("{}: it has {}: `orrery search` with --store writes one", path,
                   state == StoreState::kEmpty ? "no plans" : kOtherFormat);
  }
  ORRERY_TRY(const StoreIdentity identity, ReadIdentity(database));
  StoredPlans stored = {.program = identity.program,
                        .job = identity.job_place,
                        .job_yaml = identity.job_yaml,
                        .plans = {}};
  ORRERY_TRY_STATUS(database.CheckAll(kPlanTable, SeedOf(identity)));
  ORRERY_TRY_STATUS(
      database.ForEach(kPlanTable, SeedOf(identity), false, [&](const StoreDatabase::Read& read) {
        const Record& plan = read.record;
        if (read.is_sound && Real(plan[4]) > 0 && Integer(plan[5]) <= Integer(plan[6])) {
          stored.plans.push_back({.settings = Text(plan[1]),
                                  .step_s = Real(plan[4]),
                                  .memory_bytes = Integer(plan[5]),
                                  .usable_bytes = Integer(plan[6]),
                                  .mfu = Real(plan[7]),
                                  .tokens_per_s = Real(plan[8])});
        }
        return true;
      }));
  std::ranges::stable_sort(stored.plans, {}, &StoredPlan::step_s);  // equal ones by id
  return stored;
}

}  // namespace orrery::search
