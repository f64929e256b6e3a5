#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "orrery/base/error.h"

namespace orrery::bench {

/// A file that is written from front to back; gzip where the name ends in ".gz".
class OutputFile {
 public:
  virtual ~OutputFile() = default;

  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path);

  virtual Status Write(std::string_view bytes) = 0;

  /// Writes what is still held back. The file is complete only after this.
  virtual Status Close() = 0;
};

/// Nanoseconds that TextWriter writes as microseconds with three decimals: 1234567 gives
/// "1234.567".
struct Micros {
  std::int64_t nanoseconds = 0;
};

/// Collects small pieces of text and hands them on in large ones. Remembers the first error, so
/// that callers look once, at the end.
class TextWriter {
 public:
  /// Counts only, when `file` is null.
  explicit TextWriter(OutputFile* file);

  void Text(std::string_view text);
  void Number(std::int64_t value);
  void Microseconds(std::int64_t nanoseconds);

  /// Writes texts, integers and Micros, one after the other.
  template <typename... Parts>
  void Put(const Parts&... parts) {
    (PutOne(parts), ...);
  }

  /// Hands on what is left and returns the first error there was.
  Status Finish();

  [[nodiscard]] std::int64_t bytes() const {
    return flushed_bytes_ + static_cast<std::int64_t>(used_);
  }

 private:
  template <typename Part>
  void PutOne(const Part& part) {
    if constexpr (std::is_same_v<Part, Micros>) {
      Microseconds(part.nanoseconds);
    } else if constexpr (std::is_integral_v<Part>) {
      Number(part);
    } else {
      Text(part);
    }
  }

  char* Reserve(std::size_t size);
  void Flush();

  OutputFile* file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::int64_t flushed_bytes_ = 0;
  Status status_;
};

}  // namespace orrery::bench
