#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace orrery {

/// Cuts lines out of bytes as they come. Of a line that is longer than `longest`, one byte more
/// than that is kept, so that whoever takes it knows.
class LineCutter {
 public:
  using Take = std::function<void(std::string_view line)>;

  LineCutter(std::size_t longest, Take take) : longest_(longest), take_(std::move(take)) {}

  void Add(std::string_view bytes);

  /// Hands over a last line that has no end.
  void Finish();

 private:
  std::size_t longest_;
  Take take_;
  std::string line_;
};

}  // namespace orrery
