#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/engine.h"
#include "orrery/simulate/rank_classes.h"

namespace orrery::simulate {

/// Memory over a step in columns of equal time, for a picture: each shows its fullest instant.
struct MemoryColumns {
  std::vector<std::string> categories;           // in the order in which the program names them
  std::vector<std::vector<std::int64_t>> bytes;  // by column, then by category
};

/// O(changes · categories + columns · categories).
[[nodiscard]] MemoryColumns MemoryColumnsOf(const RankClasses& rank_classes,
                                            const Timeline& timeline, RankClassId rank_class,
                                            std::size_t num_columns);

}  // namespace orrery::simulate
