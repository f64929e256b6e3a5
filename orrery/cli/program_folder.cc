#include "orrery/cli/program_folder.h"

#include <system_error>

namespace orrery::cli {

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : self.parent_path();
}

}  // namespace orrery::cli
