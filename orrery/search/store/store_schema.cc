#include "orrery/search/store/store_schema.h"

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/search/store/store_database.h"

namespace orrery::search {
namespace {

constexpr std::int64_t kApplication = 0x4f52'5250;  // "ORRP", in the header of the file
constexpr std::int64_t kFormat = 2;

constexpr const char* kSchema =
    "DROP TABLE IF EXISTS identity; DROP TABLE IF EXISTS screenings; DROP TABLE IF EXISTS plans;"
    "CREATE TABLE identity (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE screenings (first INTEGER PRIMARY KEY, last INTEGER NOT NULL,"
    " considered INTEGER, refused INTEGER, too_large INTEGER, figures BLOB NOT NULL,"
    " checksum INTEGER NOT NULL);"
    "CREATE TABLE plans (id INTEGER PRIMARY KEY, settings TEXT, job_hash TEXT, bound_s REAL,"
    " step_s REAL, memory_bytes INTEGER, usable_bytes INTEGER, mfu REAL, tokens_per_s REAL,"
    " joules REAL, refusal TEXT, figures BLOB NOT NULL, checksum INTEGER NOT NULL);";

std::string Hex(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::uint64_t SeedOf(const StoreIdentity& identity) {
  const std::string text =
      fmt::format("{}\n{}\n{}", identity.program, identity.models, Hex(identity.space));
  return XXH3_64bits(text.data(), text.size());
}

Result<StoreState> StateOf(StoreDatabase& database) {
  ORRERY_TRY(const std::int64_t tables, database.ReadNumber("SELECT count(*) FROM sqlite_schema"));
  ORRERY_TRY(const std::int64_t application, database.ReadNumber("PRAGMA application_id"));
  ORRERY_TRY(const std::int64_t pages, database.ReadNumber("PRAGMA page_count"));
  if (tables == 0 && application == 0 && pages <= 1) {
    return StoreState::kEmpty;
  }
  if (application != kApplication) {
    return Invalid("{}: this database is no store of plans: name another file", database.path());
  }
  ORRERY_TRY(const std::int64_t format, database.ReadNumber("PRAGMA user_version"));
  return format == kFormat ? StoreState::kStore : StoreState::kOtherFormat;
}

Status CreateStore(StoreDatabase& database, const StoreIdentity& identity) {
  ORRERY_TRY_STATUS(database.Execute("PRAGMA journal_mode=WAL"));
  ORRERY_TRY_STATUS(database.Execute(
      fmt::format("BEGIN IMMEDIATE; PRAGMA application_id={}; PRAGMA user_version={}; {}",
                  kApplication, kFormat, kSchema)));
  const std::string space = Hex(identity.space);
  for (const auto& [key, value] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"program", identity.program},
           {"models", identity.models},
           {"space", space},
           {"job", identity.job_place},
           {"job_yaml", identity.job_yaml}}) {
    ORRERY_TRY_STATUS(
        database.Insert(kIdentityTable, {std::string(key), std::string(value)}, kIdentitySeed));
  }
  return database.Execute("COMMIT");
}

Result<StoreIdentity> ReadIdentity(StoreDatabase& database) {
  std::map<std::string, std::string> values;
  ORRERY_TRY_STATUS(database.CheckAll(kIdentityTable, kIdentitySeed));
  ORRERY_TRY_STATUS(
      database.ForEach(kIdentityTable, kIdentitySeed, false, [&](const StoreDatabase::Read& read) {
        const auto* const key = std::get_if<std::string>(&read.record[0]);
        const auto* const value = std::get_if<std::string>(&read.record[1]);
        if (key != nullptr && value != nullptr) {
          values.emplace(*key, *value);
        }
        return true;
      }));
  for (const char* const key : {"program", "models", "space", "job", "job_yaml"}) {
    if (!values.contains(key)) {
      return tl::unexpected(database.Damaged(fmt::format("its identity lacks {}", key)));
    }
  }
  return StoreIdentity{.program = values["program"],
                       .models = values["models"],
                       .space = std::strtoull(values["space"].c_str(), nullptr, 16),
                       .job_place = values["job"],
                       .job_yaml = values["job_yaml"]};
}

std::string DifferenceOf(const StoreIdentity& stored, const StoreIdentity& wanted) {
  if (stored.program != wanted.program) {
    return fmt::format("it was made by another version of the program ({}; this is {})",
                       stored.program, wanted.program);
  }
  if (stored.models != wanted.models) {
    return "it was made with other models";
  }
  if (stored.space != wanted.space) {
    return fmt::format("it holds the plans of another job or space ({})", stored.job_place);
  }
  return {};
}

}  // namespace orrery::search
