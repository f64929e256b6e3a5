#include "orrery/workload/slot_union.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {

void UniteSlots(std::span<Program> programs) {
  std::map<std::string, std::uint32_t, std::less<>> slot_of_name;
  std::vector<std::string> names;
  for (Program& program : programs) {
    std::vector<std::uint32_t> united;
    for (const StringId slot : program.slots) {
      const std::string name(program.strings.View(slot));
      const auto [found, is_new] =
          slot_of_name.emplace(name, static_cast<std::uint32_t>(names.size()));
      if (is_new) {
        names.push_back(name);
      }
      united.push_back(found->second);
    }
    for (std::uint32_t& slot : program.communications.slot) {
      slot = united[slot];
    }
  }
  for (Program& program : programs) {
    program.slots.clear();
    for (const std::string_view name : names) {
      program.slots.push_back(program.strings.Intern(name));
    }
  }
}

}  // namespace orrery::workload
