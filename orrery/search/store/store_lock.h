#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery::search {

/// The lock on a file beside a store, which names the process that holds it. The system lets go of
/// it when the process ends in any way.
class StoreLock {
 public:
  [[nodiscard]] static Result<StoreLock> Take(const std::string& store);

  StoreLock() = default;
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;
  ~StoreLock();

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace orrery::search
