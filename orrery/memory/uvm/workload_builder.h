#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// Bytes at an address of the recorded process.
struct AddressRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};

/// Puts a workload together: roots and objects first, then works in order with their touches.
class WorkloadBuilder {
 public:
  WorkloadBuilder(std::int64_t page_bytes, std::int64_t block_bytes);

  /// Gives the memory pages of its own, at the same place in a block as its address has.
  std::size_t AddRoot(const AddressRange& memory, RowId row = kNoRow);

  /// Adds what lies in a root; what is outside of the root is cut off. Nothing if none of it is
  /// inside.
  std::optional<std::size_t> AddObject(std::size_t root, const AddressRange& memory,
                                       RowId row = kNoRow);

  /// What object level takes in place of `object`.
  void SetContainer(std::size_t object, std::size_t container);

  /// Says that the object holds data from the begin.
  void Fill(std::size_t object);

  /// The root is freed before the next work.
  void EndRoot(std::size_t root);

  /// Begins an occurrence of an operator; its place among those of its name is counted.
  std::size_t AddOperator(std::string_view name);

  /// Works come in order; the first of an operator is where it begins.
  void AddWork(std::size_t op, std::int64_t duration_ns);

  /// Adds a touch of the last work.
  void AddTouch(std::size_t object, const AddressRange& memory);
  void AddTouch(std::size_t object);

  [[nodiscard]] Workload& workload() { return workload_; }

  /// Orders what operators touch. The builder is empty then.
  [[nodiscard]] Workload Finish();

 private:
  [[nodiscard]] PageRange PagesOf(std::size_t root, const AddressRange& memory) const;

  std::int64_t block_bytes_;
  Workload workload_;
  std::vector<AddressRange> memory_of_root_;
  std::map<std::string, std::int64_t, std::less<>> occurrences_;
};

}  // namespace orrery::memory::uvm
