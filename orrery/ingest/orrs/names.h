#pragma once

#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/stream/schema.h"

namespace orrery::ingest::orrs {

/// The strings, stacks and functions that records name by number. What a lost chunk defined is
/// shown by its number.
class Names {
 public:
  explicit Names(StringTable& strings) : strings_(&strings) {}

  void Add(const stream::String& string);
  void Add(const stream::Stack& stack);
  void Add(const stream::Function& function);

  /// Texts of the trace; kEmpty for number 0. Call them when all chunks are read.
  StringId Text(std::uint64_t id);
  StringId Stack(std::uint64_t id);
  StringId Function(std::uint64_t id);

  [[nodiscard]] std::int64_t num_missing() const { return num_missing_; }

 private:
  StringTable* strings_;
  tsl::robin_map<std::uint64_t, StringId> text_of_string_;
  tsl::robin_map<std::uint64_t, std::vector<std::uint64_t>> frames_of_stack_;
  tsl::robin_map<std::uint64_t, StringId> text_of_stack_;
  tsl::robin_map<std::uint64_t, std::uint64_t> name_of_function_;
  std::int64_t num_missing_ = 0;
};

}  // namespace orrery::ingest::orrs
