#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/orr/block_codec.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/trace.h"

namespace orrery::trace::orr {

/// A part of the reading that can run concurrently with all others.
struct ReadTask {
  std::uint64_t num_bytes = 0;  // of memory that it fills
  std::function<Status(BlockDecoder&)> run;
};

/// Makes one rank from its entry in the directory. Entry and trace must outlive the tasks.
class RankReader {
 public:
  RankReader(std::string place, const Directory& directory, const RankEntry& entry, Trace& trace)
      : place_(std::move(place)), directory_(directory), entry_(entry), trace_(trace) {}

  /// Returns the memory that the rank needs, by what its entry claims.
  [[nodiscard]] double MemoryBytes() const;

  /// Checks the entry against itself and appends the tasks that fill the trace. Allocates strings'
  /// memory only; columns are allocated by their tasks.
  [[nodiscard]] Status Plan(std::vector<ReadTask>& tasks);

 private:
  [[nodiscard]] const TableEntry* FindTable(std::string_view name) const;
  [[nodiscard]] std::uint64_t NumRows(std::string_view table) const;
  [[nodiscard]] Status PlanStrings(std::vector<ReadTask>& tasks);
  [[nodiscard]] Status ReadLengths(BlockDecoder& decoder);
  [[nodiscard]] Status ReadCharacters(BlockDecoder& decoder, std::size_t index);

  template <typename Table>
  [[nodiscard]] Status PlanTable(const char* name, Table& table, std::vector<ReadTask>& tasks);

  template <typename T>
  [[nodiscard]] Status PlanColumn(const TableEntry& table, const ColumnEntry& entry,
                                  std::vector<T>& column, std::vector<ReadTask>& tasks);

  void CountUnknown();

  std::string place_;
  const Directory& directory_;
  const RankEntry& entry_;
  Trace& trace_;

  // Filled by tasks while the string table, which owns it from the lengths' task on, has only
  // views.
  std::unique_ptr<char[]> characters_;
  char* characters_begin_ = nullptr;
};

}  // namespace orrery::trace::orr
