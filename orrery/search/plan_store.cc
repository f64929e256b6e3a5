#include "orrery/search/plan_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/search/plan_figures.h"
#include "orrery/search/space.h"

namespace orrery::search {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr std::int64_t kApplication = 0x4f52'5250;  // "ORRP", in the header of the file
constexpr std::int64_t kFormat = 1;
constexpr int kPatienceMs = 60'000;  // while another program reads the database for the first time

// Figures as blobs are what a search reads again; the other columns are for people and their
// queries.
constexpr const char* kSchema =
    "CREATE TABLE identity (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE screenings (first INTEGER PRIMARY KEY, last INTEGER NOT NULL,"
    " considered INTEGER, refused INTEGER, too_large INTEGER, figures BLOB NOT NULL);"
    "CREATE TABLE plans (id INTEGER PRIMARY KEY, settings TEXT, job_hash TEXT, bound_s REAL,"
    " step_s REAL, memory_bytes INTEGER, usable_bytes INTEGER, mfu REAL, tokens_per_s REAL,"
    " joules REAL, refusal TEXT, figures BLOB NOT NULL);";

std::string Hex(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

Error SystemError(const std::string& path, const char* what) {
  return {Error::Kind::kSystem, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

/// A statement with its values.
class Statement {
 public:
  Statement(sqlite3* connection, std::string_view text) {
    status_ = sqlite3_prepare_v2(connection, text.data(), static_cast<int>(text.size()),
                                 &statement_, nullptr);
  }

  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  ~Statement() { sqlite3_finalize(statement_); }

  void Bind(std::int64_t value) { Keep(sqlite3_bind_int64(statement_, ++bound_, value)); }

  void Bind(double value) { Keep(sqlite3_bind_double(statement_, ++bound_, value)); }

  // Bytes stay where they are until the statement is gone.
  void BindText(std::string_view text) {
    Keep(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                           SQLITE_STATIC));
  }

  void BindBlob(std::string_view bytes) {
    Keep(sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC));
  }

  /// SQLITE_ROW, SQLITE_DONE or what went wrong.
  int Step() {
    if (status_ == SQLITE_OK || status_ == SQLITE_ROW) {
      status_ = sqlite3_step(statement_);
    }
    return status_;
  }

  [[nodiscard]] std::int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

  [[nodiscard]] double Real(int column) const { return sqlite3_column_double(statement_, column); }

  [[nodiscard]] std::string Bytes(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }

 private:
  void Keep(int status) { status_ = status_ == SQLITE_OK ? status : status_; }

  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_OK;
  int bound_ = 0;
};

tl::unexpected<Error> DatabaseError(const std::string& path, sqlite3* connection) {
  const int code = sqlite3_errcode(connection);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("{}: this is no store of plans, or it is damaged ({}): name another file", path,
                    sqlite3_errmsg(connection)));
  }
  return Fail(Error::Kind::kSystem,
              fmt::format("{}: the store cannot be used: {}; what was settled before is in it, and "
                          "--resume goes on from there",
                          path, sqlite3_errmsg(connection)));
}

Status Execute(const std::string& path, sqlite3* connection, const std::string& text) {
  if (sqlite3_exec(connection, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return DatabaseError(path, connection);
  }
  return {};
}

Result<std::int64_t> ReadNumber(const std::string& path, sqlite3* connection,
                                std::string_view text) {
  Statement statement(connection, text);
  if (statement.Step() != SQLITE_ROW) {
    return DatabaseError(path, connection);
  }
  return statement.Integer(0);
}

Result<std::string> ReadIdentity(const std::string& path, sqlite3* connection,
                                 std::string_view key) {
  Statement statement(connection, "SELECT value FROM identity WHERE key = ?");
  statement.BindText(key);
  const int status = statement.Step();
  if (status != SQLITE_ROW && status != SQLITE_DONE) {
    return DatabaseError(path, connection);
  }
  return status == SQLITE_ROW ? statement.Bytes(0) : std::string();
}

// Why the plans of a store are not those of this search; empty where they are.
Result<std::string> DifferenceOf(const std::string& path, sqlite3* connection,
                                 const StoreIdentity& identity) {
  ORRERY_TRY(const std::string program, ReadIdentity(path, connection, "program"));
  if (program != identity.program) {
    return fmt::format("it was made by another version of the program ({}; this is {})", program,
                       identity.program);
  }
  ORRERY_TRY(const std::string models, ReadIdentity(path, connection, "models"));
  if (models != identity.models) {
    return std::string("it was made with other models");
  }
  ORRERY_TRY(const std::string space, ReadIdentity(path, connection, "space"));
  if (space != Hex(identity.space)) {
    ORRERY_TRY(const std::string place, ReadIdentity(path, connection, "job"));
    return fmt::format("it holds the plans of another job or space ({})", place);
  }
  return std::string();
}

std::string HashOfJob(const Space& space, const ScreenedPlan& screened,
                      const std::string& settings) {
  const std::string text = space.bases()[screened.base].yaml + settings;
  return Hex(XXH3_64bits(text.data(), text.size()));
}

}  // namespace

void PlanStore::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Result<PlanStore::Lock> PlanStore::Lock::Take(const std::string& store) {
  Lock lock;
  lock.path_ = store + ".lock";
  while (lock.file_ < 0) {
    const int file = open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
      return tl::unexpected(SystemError(store, "the store cannot be locked"));
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      std::array<char, 256> holder{};
      const auto size = pread(file, holder.data(), holder.size(), 0);
      close(file);
      return Fail(
          Error::Kind::kSystem,
          fmt::format("{}: another search holds the store ({}): wait until it ends, or name "
                      "another file",
                      store,
                      std::string_view(holder.data(), static_cast<std::size_t>(
                                                          std::max<decltype(size)>(size, 0)))));
    }
    // Its last holder may have removed it in between.
    struct stat own{};
    struct stat there{};
    if (fstat(file, &own) == 0 && stat(lock.path_.c_str(), &there) == 0 &&
        own.st_ino == there.st_ino) {
      lock.file_ = file;
    } else {
      close(file);
    }
  }
  std::array<char, 128> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string holder = fmt::format("process {} on {}", getpid(), host.data());
  if (ftruncate(lock.file_, 0) != 0 ||
      pwrite(lock.file_, holder.data(), holder.size(), 0) != std::ssize(holder)) {
    return tl::unexpected(SystemError(store, "the store cannot be locked"));
  }
  return lock;
}

PlanStore::Lock::Lock(Lock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

PlanStore::Lock& PlanStore::Lock::operator=(Lock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

PlanStore::Lock::~Lock() {
  if (file_ >= 0) {
    unlink(path_.c_str());
    close(file_);
  }
}

PlanStore::~PlanStore() = default;

Result<PlanStore> PlanStore::Open(const std::string& path, const StoreIdentity& identity,
                                  Mode mode) {
  PlanStore store;
  store.path_ = path;
  ORRERY_TRY(store.lock_, Lock::Take(path));
  ORRERY_TRY_STATUS(store.Connect());
  ORRERY_TRY_STATUS(store.Prepare(identity, mode));
  return store;
}

Status PlanStore::Connect() {
  sqlite3* connection = nullptr;
  const int status =
      sqlite3_open_v2(path_.c_str(), &connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  connection_.reset(connection);
  if (status != SQLITE_OK) {
    return Fail(Error::Kind::kSystem, fmt::format("{}: the store cannot be opened: {}", path_,
                                                  sqlite3_errmsg(connection)));
  }
  sqlite3_busy_timeout(connection, kPatienceMs);
  // FULL: in WAL mode a commit is on the disk when it returns.
  return Execute(path_, connection_.get(), "PRAGMA trusted_schema=OFF; PRAGMA synchronous=FULL;");
}

Status PlanStore::Prepare(const StoreIdentity& identity, Mode mode) {
  sqlite3* const connection = connection_.get();
  ORRERY_TRY(const std::int64_t tables,
             ReadNumber(path_, connection, "SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) {
    return Create(identity);
  }
  ORRERY_TRY(const std::int64_t application,
             ReadNumber(path_, connection, "PRAGMA application_id"));
  if (application != kApplication) {
    return Invalid("{}: this database is no store of plans: name another file", path_);
  }
  ORRERY_TRY(const std::int64_t format, ReadNumber(path_, connection, "PRAGMA user_version"));
  std::string difference =
      fmt::format("it has format {}, and this program writes {}", format, kFormat);
  if (format == kFormat) {
    ORRERY_TRY(difference, DifferenceOf(path_, connection, identity));
  }
  if (!difference.empty() && mode != Mode::kAnyway) {
    return Invalid("{}: its plans cannot be used: {}; --anyway removes them and computes all again",
                   path_, difference);
  }
  if (!difference.empty()) {
    ORRERY_TRY_STATUS(
        Execute(path_, connection,
                "BEGIN IMMEDIATE; DROP TABLE IF EXISTS identity;"
                "DROP TABLE IF EXISTS screenings; DROP TABLE IF EXISTS plans; COMMIT"));
    return Create(identity);
  }
  if (mode == Mode::kNew) {
    return Invalid("{}: there is a search already: --resume continues it, or name another file",
                   path_);
  }
  return {};
}

Status PlanStore::Create(const StoreIdentity& identity) {
  sqlite3* const connection = connection_.get();
  ORRERY_TRY_STATUS(Execute(path_, connection, "PRAGMA journal_mode=WAL"));
  ORRERY_TRY_STATUS(
      Execute(path_, connection,
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
    Statement statement(connection, "INSERT INTO identity VALUES (?, ?)");
    statement.BindText(key);
    statement.BindText(value);
    if (statement.Step() != SQLITE_DONE) {
      return DatabaseError(path_, connection);
    }
  }
  return Execute(path_, connection, "COMMIT");
}

Result<std::optional<Screening>> PlanStore::FindScreening(PlanId first, PlanId last) {
  Statement statement(connection_.get(),
                      "SELECT figures FROM screenings WHERE first = ? AND last = ?");
  statement.Bind(static_cast<std::int64_t>(first));
  statement.Bind(static_cast<std::int64_t>(last));
  const int status = statement.Step();
  if (status == SQLITE_DONE) {
    return std::nullopt;
  }
  if (status != SQLITE_ROW) {
    return DatabaseError(path_, connection_.get());
  }
  Result<Screening> screening = DecodeScreening(statement.Bytes(0));
  if (!screening) {
    return FailWithin(path_, screening);
  }
  return *std::move(screening);
}

Result<std::optional<PlayedPlan>> PlanStore::FindPlayed(PlanId id) {
  Statement statement(connection_.get(), "SELECT figures FROM plans WHERE id = ?");
  statement.Bind(static_cast<std::int64_t>(id));
  const int status = statement.Step();
  if (status == SQLITE_DONE) {
    return std::nullopt;
  }
  if (status != SQLITE_ROW) {
    return DatabaseError(path_, connection_.get());
  }
  Result<PlayedPlan> played = DecodePlayed(statement.Bytes(0));
  if (!played) {
    return FailWithin(path_, played);
  }
  return *std::move(played);
}

Status PlanStore::Keep(PlanId first, PlanId last, const Screening& screening) {
  const std::string figures = Encode(screening);
  Statement statement(connection_.get(),
                      "INSERT OR REPLACE INTO screenings VALUES (?, ?, ?, ?, ?, ?)");
  for (const std::uint64_t number :
       {first, last, screening.considered, screening.refused, screening.too_large}) {
    statement.Bind(static_cast<std::int64_t>(number));
  }
  statement.BindBlob(figures);
  if (statement.Step() != SQLITE_DONE) {
    return DatabaseError(path_, connection_.get());
  }
  return {};
}

Status PlanStore::Keep(const Space& space, const ScreenedPlan& screened, const PlayedPlan& played) {
  const std::string figures = Encode(played);
  const std::string settings = fmt::format("{}", fmt::join(space.SettingsOf(screened.id), " "));
  const std::string job_hash = HashOfJob(space, screened, settings);
  Statement statement(connection_.get(),
                      "INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  statement.Bind(static_cast<std::int64_t>(screened.id));
  statement.BindText(settings);
  statement.BindText(job_hash);
  statement.Bind(static_cast<double>(screened.bound_ps) / kPicoseconds);
  statement.Bind(static_cast<double>(played.step_ps) / kPicoseconds);
  statement.Bind(played.memory_bytes);
  statement.Bind(played.usable_bytes);
  statement.Bind(played.mfu);
  statement.Bind(played.tokens_per_s);
  statement.Bind(played.joules);
  statement.BindText(played.refusal);
  statement.BindBlob(figures);
  if (statement.Step() != SQLITE_DONE) {
    return DatabaseError(path_, connection_.get());
  }
  return {};
}

Result<StoredPlans> ReadStore(const std::string& path) {
  sqlite3* connection = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> closed(connection, sqlite3_close_v2);
  if (opened != SQLITE_OK) {
    return Fail(Error::Kind::kSystem, fmt::format("{}: the store cannot be opened: {}", path,
                                                  sqlite3_errmsg(connection)));
  }
  sqlite3_busy_timeout(connection, kPatienceMs);
  ORRERY_TRY_STATUS(Execute(path, connection, "PRAGMA trusted_schema=OFF;"));
  StoredPlans stored;
  ORRERY_TRY(stored.program, ReadIdentity(path, connection, "program"));
  ORRERY_TRY(stored.job, ReadIdentity(path, connection, "job"));
  ORRERY_TRY(stored.job_yaml, ReadIdentity(path, connection, "job_yaml"));
  Statement plans(
      connection,
      "SELECT settings, step_s, memory_bytes, usable_bytes, mfu, tokens_per_s FROM plans"
      " WHERE step_s > 0 AND memory_bytes <= usable_bytes ORDER BY step_s, id");
  int status = plans.Step();
  for (; status == SQLITE_ROW; status = plans.Step()) {
    stored.plans.push_back({.settings = plans.Bytes(0),
                            .step_s = plans.Real(1),
                            .memory_bytes = plans.Integer(2),
                            .usable_bytes = plans.Integer(3),
                            .mfu = plans.Real(4),
                            .tokens_per_s = plans.Real(5)});
  }
  if (status != SQLITE_DONE) {
    return DatabaseError(path, connection);
  }
  return stored;
}

}  // namespace orrery::search
