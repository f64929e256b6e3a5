#include "orrery/memory/patterns/finding.h"

#include <array>

namespace orrery::memory::patterns {
namespace {

struct Words {
  std::string_view name;
  std::string_view suggestion;
};

constexpr std::array<Words, kNumPatterns> kWords = {{
    {"unused allocation", "remove it"},
    {"early allocation", "allocate it before its first access"},
    {"late deallocation", "free it after its last access"},
    {"leak", "free it"},
    {"redundant allocation", "reuse the object that is idle"},
    {"temporary idleness", "offload or recompute it between the accesses"},
    {"dead write", "drop the first write"},
    {"overallocation", "shrink it"},
    {"uneven access", "split hot and cold parts"},
    {"structured access", "allocate the slices one by one"},
    {"redundant copy", "drop the second copy"},
}};

}  // namespace

std::string_view PatternName(Pattern pattern) {
  return kWords[static_cast<std::size_t>(pattern)].name;
}

std::string_view Suggestion(Pattern pattern) {
  return kWords[static_cast<std::size_t>(pattern)].suggestion;
}

}  // namespace orrery::memory::patterns
