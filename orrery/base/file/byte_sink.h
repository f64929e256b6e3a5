#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery {

/// An output of bytes. Nothing counts as written before `Close` succeeded; a sink that is destroyed
/// without Close leaves no file.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  [[nodiscard]] virtual Status Write(std::string_view bytes) = 0;

  /// Finishes the output; call it once, after the last Write.
  [[nodiscard]] virtual Status Close() = 0;
};

class MemorySink : public ByteSink {
 public:
  Status Write(std::string_view bytes) override {
    bytes_ += bytes;
    return {};
  }

  Status Close() override { return {}; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Writes to a temporary file next to `path`, which Close renames, so that `path` is never half
/// written. A file that is replaced keeps its mode and owner; one that the user may not write is
/// refused; a link stays, and its target is replaced. Special files (a pipe, /dev/stdout) are
/// written directly.
[[nodiscard]] Result<std::unique_ptr<ByteSink>> CreateFile(const std::string& path);

/// Says whether a file of this name is a temporary one that a killed program left behind.
[[nodiscard]] bool IsUnfinishedFile(std::string_view name);

/// Compresses into `packed`; Close closes that too. The same input gives the same bytes
/// on one machine type.
[[nodiscard]] std::unique_ptr<ByteSink> Pack(std::unique_ptr<ByteSink> packed,
                                             Compression compression);

/// Creates a file that is compressed according to its name (see CompressionOfName).
[[nodiscard]] Result<std::unique_ptr<ByteSink>> CreatePackedFile(const std::string& path);

/// Compresses `bytes`; kNone copies them.
[[nodiscard]] std::string Pack(std::string_view bytes, Compression compression);

/// Returns the compression for a file name to write: by ".gz", ".zst", or none.
[[nodiscard]] Compression CompressionOfName(std::string_view path);

/// Writes a file, compressed according to its name; an existing file is replaced at the end.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace orrery
