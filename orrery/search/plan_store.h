#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/plan_figures.h"
#include "orrery/search/space.h"

struct sqlite3;

namespace orrery::search {

/// What figures of plans depend on: a store holds those of one identity only.
struct StoreIdentity {
  std::string program = {};    // its version and build
  std::string models = {};     // a hash of the kernel and overlap models
  std::uint64_t space = 0;     // Space::Hash
  std::string job_place = {};  // for people
  std::string job_yaml = {};   // the same
};

/// Plans that are settled already, in a SQLite database that survives the end of the program at any
/// moment (docs/formats/search.md). One search at a time holds it.
class PlanStore {
 public:
  enum class Mode : std::uint8_t {
    kNew,     // there must be nothing yet
    kResume,  // what the same program, models and space have settled is used
    kAnyway,  // the same; plans of others are removed first
  };

  [[nodiscard]] static Result<PlanStore> Open(const std::string& path,
                                              const StoreIdentity& identity, Mode mode);

  PlanStore(PlanStore&&) = default;
  PlanStore& operator=(PlanStore&&) = default;
  ~PlanStore();

  [[nodiscard]] Result<std::optional<Screening>> FindScreening(PlanId first, PlanId last);
  [[nodiscard]] Result<std::optional<PlayedPlan>> FindPlayed(PlanId id);

  /// When these return, the figures are in the file.
  [[nodiscard]] Status Keep(PlanId first, PlanId last, const Screening& screening);
  [[nodiscard]] Status Keep(const Space& space, const ScreenedPlan& screened,
                            const PlayedPlan& played);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };

  /// The lock on a file beside the store, which names the process that holds it. The system lets go
  /// of it when the process ends in any way.
  class Lock {
   public:
    [[nodiscard]] static Result<Lock> Take(const std::string& store);

    Lock() = default;
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    ~Lock();

   private:
    std::string path_;
    int file_ = -1;
  };

  PlanStore() = default;

  [[nodiscard]] Status Connect();
  [[nodiscard]] Status Prepare(const StoreIdentity& identity, Mode mode);
  [[nodiscard]] Status Create(const StoreIdentity& identity);

  std::string path_;
  Lock lock_;  // outlives the connection
  std::unique_ptr<sqlite3, Close> connection_;
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

/// Reads a store, also while a search holds it.
[[nodiscard]] Result<StoredPlans> ReadStore(const std::string& path);

}  // namespace orrery::search
