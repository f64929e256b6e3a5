#include "orrery/base/file/line_cutter.h"

#include <cstddef>
#include <string_view>

namespace orrery {

void LineCutter::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end).substr(0, longest_ + 1 - line_.size());
    if (end == std::string_view::npos) {
      return;
    }
    take_(line_);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void LineCutter::Finish() {
  if (!line_.empty()) {
    take_(line_);
    line_.clear();
  }
}

}  // namespace orrery
