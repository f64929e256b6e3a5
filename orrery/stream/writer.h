#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "orrery/stream/format.h"
#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema.h"

// Writes streams, inside the process that is recorded: header-only, nothing but the standard
// library and system calls, no exceptions, no locks, no memory after the beginning.

namespace orrery::stream {

/// Collects records of one chunk type in memory of a fixed size. One producer owns a builder; when
/// a record does not fit, it hands `Seal()` to the writer, clears, and appends the record again.
class ChunkBuilder {
 public:
  static constexpr std::size_t kDefaultCapacity = 256 << 10;

  /// Takes room for `capacity` bytes of records, at most kMaxRawBytes. Without memory every Append
  /// fails.
  explicit ChunkBuilder(ChunkType type, std::uint32_t buffer = 0,
                        std::size_t capacity = kDefaultCapacity) noexcept
      : capacity_(capacity < kMaxRawBytes ? capacity : kMaxRawBytes),
        bytes_(new(std::nothrow) char[kChunkHeaderBytes + capacity_]),
        header_{.type = type, .buffer = buffer} {
    capacity_ = bytes_ == nullptr ? 0 : capacity_;
  }

  /// Adds a record; false, and nothing added, if it does not fit or belongs to another type.
  template <typename Record>
  [[nodiscard]] bool Append(const Record& record) noexcept {
    if (Record::kChunk != header_.type) {
      return false;
    }
    if (empty()) {
      Begin(record);
    }
    const Registers before = registers_;
    char* const begin = payload() + size_;
    char* const end = payload() + capacity_;
    const std::size_t length = begin + kLengthBytes < end
                                   ? EncodeRecord(record, registers_, begin + kLengthBytes, end)
                                   : 0;
    if (length == 0) {
      registers_ = before;
      return false;
    }
    BoundedWriter prefix(begin, begin + kLengthBytes);
    prefix.Varint(length);
    std::memmove(begin + prefix.size(), begin + kLengthBytes, length);
    size_ += prefix.size() + length;
    ++header_.num_records;
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return header_.num_records == 0; }

  [[nodiscard]] std::uint32_t num_records() const noexcept { return header_.num_records; }

  /// Bytes of records so far.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Completes header and checksums and returns the whole chunk; it stays valid until Clear.
  [[nodiscard]] std::string_view Seal() noexcept {
    if (capacity_ == 0) {
      return {};
    }
    header_.raw_bytes = static_cast<std::uint32_t>(size_);
    header_.stored_bytes = header_.raw_bytes;
    header_.payload_crc = Crc32c({payload(), size_});
    EncodeChunkHeader(header_, bytes_.get());
    return {bytes_.get(), kChunkHeaderBytes + size_};
  }

  void Clear() noexcept {
    size_ = 0;
    header_.num_records = 0;
    header_.first_sequence = 0;
    registers_ = Registers();
  }

 private:
  // Room for the length of a record, 64 MiB at most.
  static constexpr std::size_t kLengthBytes = 4;

  [[nodiscard]] char* payload() const noexcept { return bytes_.get() + kChunkHeaderBytes; }

  template <typename Record>
  void Begin(const Record& record) noexcept {
    if constexpr (requires { record.sequence; }) {
      header_.first_sequence = record.sequence;
    }
    registers_ = Registers(header_.first_sequence);
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> bytes_;
  ChunkHeader header_;
  Registers registers_;
};

/// The file on disk. Each chunk goes out with one system call, so that a process that is killed
/// leaves all chunks but perhaps the last, whose tail readers recognise as torn.
class StreamFile {
 public:
  StreamFile() = default;
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  StreamFile(StreamFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), error_(other.error_) {}

  StreamFile& operator=(StreamFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    error_ = other.error_;
    return *this;
  }

  ~StreamFile() { Close(); }

  /// Creates or truncates the file and writes its header; on failure returns false and sets
  /// `error()`.
  [[nodiscard]] bool Create(const char* path) noexcept {
    Close();
    error_ = 0;
    descriptor_ = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) {
      error_ = errno;
      return false;
    }
    const auto header = FileHeader();
    return Write({header.data(), header.size()});
  }

  /// Appends a sealed chunk. Calls from several threads must be serialised by the caller.
  [[nodiscard]] bool Write(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        error_ = errno;
        return false;
      }
      bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
  }

  /// Takes away what a failed Write left behind the first `bytes`; where that fails, readers
  /// recognise the torn tail.
  void CutTo(std::uint64_t bytes) noexcept {
    static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0);
  }

  void Close() noexcept {
    if (descriptor_ >= 0) {
      ::close(std::exchange(descriptor_, -1));
    }
  }

  /// The errno of what failed last, or 0.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  int descriptor_ = -1;
  int error_ = 0;
};

/// Appends a record to a chunk, and writes the chunk out first when it is full; false if the file
/// refuses or the record is larger than an empty chunk.
template <typename Record>
[[nodiscard]] bool AppendOrFlush(const Record& record, ChunkBuilder& chunk,
                                 StreamFile& file) noexcept {
  if (chunk.Append(record)) {
    return true;
  }
  if (chunk.empty()) {
    return false;
  }
  const bool written = file.Write(chunk.Seal());
  chunk.Clear();
  return chunk.Append(record) && written;
}

}  // namespace orrery::stream
