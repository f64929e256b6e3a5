#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::search {

struct Blob {
  std::string bytes;

  bool operator==(const Blob&) const = default;
};

/// One value of a record.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;
using Record = std::vector<Cell>;

/// A table whose first column is its key and whose last one, `checksum`, is the hash of all others.
struct StoreTable {
  std::string_view name;
  std::string_view columns;  // "id, settings": with the key, without the checksum
};

/// The SQLite database of a store. SQLite finds damage of its own structure; that of values is
/// found by checksums, which also say which search a record belongs to: they begin with its seed.
class StoreDatabase {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };

  [[nodiscard]] static Result<StoreDatabase> Open(const std::string& path, Access access);

  [[nodiscard]] Status Execute(const std::string& text);
  [[nodiscard]] Result<std::int64_t> ReadNumber(std::string_view text);

  /// Empty if SQLite finds the structure intact; else SQLite's message.
  [[nodiscard]] Result<std::string> StructureProblem();

  [[nodiscard]] Status Insert(const StoreTable& table, Record record, std::uint64_t seed);

  /// Fails for a record whose checksum is not that of its values.
  [[nodiscard]] Result<std::optional<Record>> Find(const StoreTable& table, std::int64_t key,
                                                   std::uint64_t seed);

  struct Read {
    Record record;             // without its checksum
    bool is_sound = false;     // of this seed
    std::uint64_t number = 0;  // from 1 on, in the order that was asked for
  };

  /// Reads all records, those with large keys first if so asked, until `take` says that it is
  /// enough. Fails where SQLite cannot go on.
  [[nodiscard]] Status ForEach(const StoreTable& table, std::uint64_t seed, bool is_reversed,
                               const std::function<bool(Read)>& take);

  /// Fails at the first record that is not sound.
  [[nodiscard]] Status CheckAll(const StoreTable& table, std::uint64_t seed);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// "x.orrdb: the store is damaged (…): …".
  [[nodiscard]] Error Damaged(std::string_view what) const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };

  StoreDatabase() = default;

  [[nodiscard]] tl::unexpected<Error> DatabaseError() const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

/// Of all values in order, their types and lengths.
[[nodiscard]] std::int64_t ChecksumOf(const Record& record, std::uint64_t seed);

}  // namespace orrery::search
