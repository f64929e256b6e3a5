#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/search/store/store_database.h"

namespace orrery::search {

/// The inputs of the metrics of plans: a store holds those of one identity only.
struct StoreIdentity {
  std::string program = {};    // its version and build
  std::string models = {};     // a hash of the kernel and overlap models
  std::uint64_t space = 0;     // Space::Hash
  std::string job_place = {};  // for people
  std::string job_yaml = {};   // the same
};

// Figures as blobs are what a search reads again; the other columns are for people and their
// queries.
inline constexpr StoreTable kIdentityTable = {"identity", "key, value"};
inline constexpr StoreTable kBoundsTable = {"screenings",
                                            "first, last, considered, refused, too_large, figures"};
inline constexpr StoreTable kPlanTable = {
    "plans",
    "id, settings, job_hash, bound_s, step_s, memory_bytes, usable_bytes, mfu, tokens_per_s, "
    "joules, refusal, figures"};

/// Checksums of the identity begin with it: it is read before anything is known of a store.
inline constexpr std::uint64_t kIdentitySeed = 0;

/// Checksums of ranges and plans begin with it.
[[nodiscard]] std::uint64_t SeedOf(const StoreIdentity& identity);

/// The state of a file: nothing yet, a store of this format or of another one.
enum class StoreState : std::uint8_t { kEmpty, kOtherFormat, kStore };

/// Fails for a file that is no store.
[[nodiscard]] Result<StoreState> StateOf(StoreDatabase& database);

/// Makes the tables of a store without plans; those that are there are removed.
[[nodiscard]] Status CreateStore(StoreDatabase& database, const StoreIdentity& identity);

/// Fails where it is damaged.
[[nodiscard]] Result<StoreIdentity> ReadIdentity(StoreDatabase& database);

/// Why the plans of a store are not those of a search; empty where they are.
[[nodiscard]] std::string DifferenceOf(const StoreIdentity& stored, const StoreIdentity& wanted);

}  // namespace orrery::search
