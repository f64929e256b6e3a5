#include "orrery/workload/recorded/group_role_union.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {

void UniteGroupRoles(std::span<Program> programs) {
  std::map<std::string, std::uint32_t, std::less<>> role_of_name;
  std::vector<std::string> names;
  for (Program& program : programs) {
    std::vector<std::uint32_t> united;
    for (const StringId role : program.roles) {
      const std::string name(program.strings.View(role));
      const auto [found, is_new] =
          role_of_name.emplace(name, static_cast<std::uint32_t>(names.size()));
      if (is_new) {
        names.push_back(name);
      }
      united.push_back(found->second);
    }
    for (std::uint32_t& role : program.communications.role) {
      role = united[role];
    }
  }
  for (Program& program : programs) {
    program.roles.clear();
    for (const std::string_view name : names) {
      program.roles.push_back(program.strings.Intern(name));
    }
  }
}

}  // namespace orrery::workload
