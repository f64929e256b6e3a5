#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {

/// A file to be recognised and read: its name, its first uncompressed bytes, and its content as
/// often as a reader wants to start over.
class InputFile {
 public:
  /// Opens `path` and looks at its head.
  static Result<InputFile> Open(const std::string& path, const UnpackLimits& limits = {});

  /// Serves bytes from memory (tests, fuzzers); `name` stands in for the path. The bytes must
  /// outlive the InputFile.
  static Result<InputFile> FromMemory(std::string name, std::string_view bytes,
                                      const UnpackLimits& limits = {});

  [[nodiscard]] const std::string& path() const { return path_; }

  /// The first bytes after decompression, at most 256 KiB.
  [[nodiscard]] std::string_view head() const { return head_; }

  /// Bytes on disk, before decompression.
  [[nodiscard]] std::int64_t packed_bytes() const { return packed_bytes_; }

  /// The file on disk holds the content as it is (not compressed, not from memory), so a library
  /// may open `path()` itself.
  [[nodiscard]] bool is_plain_file() const { return is_plain_file_; }

  /// Starts reading the uncompressed content from the beginning.
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> OpenContent() const;

  /// Reads all uncompressed content, at most `max_bytes`; damaged compression is a loss.
  [[nodiscard]] Result<std::string> ReadText(std::int64_t max_bytes,
                                             trace::ProblemLog& problems) const;

 private:
  InputFile() = default;

  Status ReadHead();

  std::string path_;
  std::string head_;
  std::int64_t packed_bytes_ = 0;
  bool is_plain_file_ = false;
  bool in_memory_ = false;
  std::string_view memory_;
  UnpackLimits limits_;
};

}  // namespace orrery::ingest
