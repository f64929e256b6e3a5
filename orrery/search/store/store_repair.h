#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/search/store/store_schema.h"

namespace orrery::search {

/// Counts of the records of a repaired store.
struct RepairedStore {
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;
  bool has_lost_more = false;  // SQLite could not read some, so that their number is unknown
};

/// Replaces a damaged store of this search by one with its sound records. Does nothing to one that
/// is whole, and to one of another search; where nothing is there, nothing is made.
[[nodiscard]] Result<RepairedStore> RepairStore(const std::string& path,
                                                const StoreIdentity& identity);

}  // namespace orrery::search
