#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/store/store_database.h"
#include "orrery/search/store/store_lock.h"
#include "orrery/search/store/store_repair.h"
#include "orrery/search/store/store_schema.h"

namespace orrery::search {

/// Plans that are decided already, in a SQLite database that survives the end of the program at any
/// moment (docs/formats/search.md). One search at a time holds it. Damage is found before any plan
/// counts.
class PlanStore {
 public:
  enum class Mode : std::uint8_t {
    kNew,     // there must be nothing yet
    kResume,  // decided plans of the same program, models and space are used
    kAnyway,  // the same; plans of others are removed first
    kRepair,  // the same; damaged records are removed first
  };

  [[nodiscard]] static Result<PlanStore> Open(const std::string& path,
                                              const StoreIdentity& identity, Mode mode);

  /// The result of kRepair.
  [[nodiscard]] const RepairedStore& repaired() const { return repaired_; }

  [[nodiscard]] Result<std::optional<PlanBounds>> FindBounds(PlanId first, PlanId last);
  [[nodiscard]] Result<std::optional<SimulatedPlan>> FindSimulatedPlan(PlanId id);

  /// When these return, the metrics are in the file.
  [[nodiscard]] Status Keep(PlanId first, PlanId last, const PlanBounds& plan_bounds);
  [[nodiscard]] Status Keep(const Space& space, const BoundedPlan& bounded,
                            const SimulatedPlan& simulated);

 private:
  PlanStore(StoreLock lock, StoreDatabase database, std::uint64_t seed)
      : lock_(std::move(lock)), database_(std::move(database)), seed_(seed) {}

  StoreLock lock_;  // outlives the connection
  StoreDatabase database_;
  std::uint64_t seed_;
  RepairedStore repaired_;
};

/// A plan that a store holds.
struct StoredPlan {
  std::string settings;  // "gpus=64 plan.tp=4": what it changes of the job
  double step_s = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t usable_bytes = 0;
  double mfu = 0;
  double tokens_per_s = 0;
};

struct StoredPlans {
  std::string program;            // that made them
  std::string job;                // its place, for people
  std::string job_yaml;           // of the first base of the space
  std::vector<StoredPlan> plans;  // that were simulated and fit, fastest first
};

/// Reads a store, also while a search holds it. Fails where a record is damaged.
[[nodiscard]] Result<StoredPlans> ReadStore(const std::string& path);

}  // namespace orrery::search
