#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery::trace::orr {

/// A file in the making: its bytes go to a temporary file beside, which takes the name at the end.
/// Without Finish nothing is left behind.
class NewFile {
 public:
  [[nodiscard]] static Result<NewFile> Create(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] Status Write(std::string_view bytes);

  /// Closes the file and gives it its name.
  [[nodiscard]] Status Finish();

  /// How many bytes were written.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  NewFile(std::string path, std::string temporary, int descriptor);

  std::string path_;
  std::string temporary_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace orrery::trace::orr
