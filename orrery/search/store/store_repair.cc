#include "orrery/search/store/store_repair.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/search/store/store_database.h"
#include "orrery/search/store/store_schema.h"

namespace orrery::search {
namespace {

using Access = StoreDatabase::Access;

/// Takes the sound records of a table from both ends, since SQLite may not get past what is
/// damaged.
class TableCopy {
 public:
  TableCopy(StoreDatabase& from, StoreDatabase& to, std::uint64_t seed)
      : from_(from), to_(to), seed_(seed) {}

  Status Copy(const StoreTable& table) {
    last_.reset();
    if (CopyFrom(table, false)) {
      return problem_;
    }
    repaired_.has_lost_more = true;
    static_cast<void>(CopyFrom(table, true));  // up to what stops it from the other end
    return problem_;
  }

  [[nodiscard]] const RepairedStore& repaired() const { return repaired_; }

 private:
  // Returns true if SQLite got to the end.
  bool CopyFrom(const StoreTable& table, bool is_reversed) {
    const std::optional<std::int64_t> end = last_;
    return from_
        .ForEach(table, seed_, is_reversed,
                 [&](StoreDatabase::Read read) {
                   const auto* const key = std::get_if<std::int64_t>(&read.record.front());
                   if (is_reversed && end && key != nullptr && *key <= *end) {
                     return false;  // that was read from the front
                   }
                   if (!is_reversed && key != nullptr) {
                     last_ = *key;
                   }
                   Take(table, std::move(read));
                   return problem_.has_value();
                 })
        .has_value();
  }

  void Take(const StoreTable& table, StoreDatabase::Read read) {
    ++(read.is_sound ? repaired_.kept : repaired_.dropped);
    if (read.is_sound) {
      problem_ = to_.Insert(table, std::move(read.record), seed_);
    }
  }

  StoreDatabase& from_;
  StoreDatabase& to_;
  std::uint64_t seed_;
  std::optional<std::int64_t> last_;
  Status problem_;
  RepairedStore repaired_;
};

void Remove(const std::string& path) {
  std::error_code ignored;
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path + suffix, ignored);
  }
}

Result<RepairedStore> CopySound(StoreDatabase& damaged, const std::string& path,
                                const StoreIdentity& identity) {
  ORRERY_TRY(StoreDatabase sound, StoreDatabase::Open(path, Access::kWrite));
  ORRERY_TRY_STATUS(CreateStore(sound, identity));
  ORRERY_TRY_STATUS(sound.Execute("BEGIN IMMEDIATE"));
  TableCopy copy(damaged, sound, SeedOf(identity));
  ORRERY_TRY_STATUS(copy.Copy(kBoundsTable));
  ORRERY_TRY_STATUS(copy.Copy(kPlanTable));
  ORRERY_TRY_STATUS(sound.Execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)"));
  return copy.repaired();
}

// The log beside the damaged store belongs to it alone.
Status Replace(const std::string& path, const std::string& sound) {
  Remove(path);
  std::error_code problem;
  std::filesystem::rename(sound, path, problem);
  if (problem) {
    return Fail(Error::Kind::kSystem,
                fmt::format("{}: the repaired store cannot take its name: {}; it is {}", path,
                            problem.message(), sound));
  }
  return {};
}

}  // namespace

Result<RepairedStore> RepairStore(const std::string& path, const StoreIdentity& identity) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return RepairedStore();
  }
  RepairedStore repaired;
  const std::string sound = path + ".repaired";
  {
    ORRERY_TRY(StoreDatabase damaged, StoreDatabase::Open(path, Access::kWrite));
    ORRERY_TRY(const StoreState state, StateOf(damaged));
    if (state != StoreState::kStore) {
      return RepairedStore();
    }
    const Result<StoreIdentity> stored = ReadIdentity(damaged);
    if (stored && !DifferenceOf(*stored, identity).empty()) {
      return RepairedStore();
    }
    Remove(sound);
    Result<RepairedStore> copied = CopySound(damaged, sound, identity);
    if (copied && !stored && copied->kept == 0) {
      Remove(sound);
      return Invalid(
          "{}: the store is damaged, and none of its records is of this search: name another file",
          path);
    }
    const Result<std::string> problem = damaged.StructureProblem();
    const bool is_whole = copied && copied->dropped == 0 && !copied->has_lost_more && stored &&
                          problem && problem->empty();
    if (!copied || is_whole) {
      Remove(sound);
      return copied;
    }
    repaired = *copied;
    repaired.dropped += stored ? 0 : 1;
  }
  ORRERY_TRY_STATUS(Replace(path, sound));
  return repaired;
}

}  // namespace orrery::search
