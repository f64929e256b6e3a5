#include "orrery/base/file/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <zstd.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::size_t kPackedBufferBytes = 1 << 20;

class FileSource : public ByteSource {
 public:
  explicit FileSource(int descriptor) : descriptor_(descriptor) {}

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  ~FileSource() override { close(descriptor_); }

  Result<std::size_t> Read(std::span<char> buffer) override {
    while (true) {
      const ssize_t count = read(descriptor_, buffer.data(), buffer.size());
      if (count >= 0) {
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) {
        return Fail(Error::Kind::kSystem, fmt::format("cannot read: {}", std::strerror(errno)));
      }
    }
  }

 private:
  int descriptor_;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> Read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), rest_.size());
    std::copy_n(rest_.begin(), count, buffer.begin());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

// Packed bytes with a look at the ones that come next.
class PackedInput {
 public:
  explicit PackedInput(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)),
        buffer_(std::make_unique_for_overwrite<char[]>(kPackedBufferBytes)) {}

  // Makes sure that at least `wanted` bytes are visible, unless the source ends before.
  Status Refill(std::size_t wanted) {
    if (size() >= wanted) {
      return {};
    }
    std::copy_n(buffer_.get() + begin_, size(), buffer_.get());
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted) {
      ORRERY_TRY(const std::size_t count,
                 source_->Read({buffer_.get() + end_, kPackedBufferBytes - end_}));
      if (count == 0) {
        break;
      }
      end_ += count;
    }
    return {};
  }

  std::string_view view() const { return {buffer_.get() + begin_, size()}; }

  std::size_t size() const { return end_ - begin_; }

  void Consume(std::size_t count) {
    begin_ += count;
    consumed_ += static_cast<std::int64_t>(count);
  }

  std::int64_t consumed() const { return consumed_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;  // not cleared: most files are much smaller
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t consumed_ = 0;
};

// One decompressor: takes packed bytes from the input, puts unpacked bytes out.
class Decoder {
 public:
  virtual ~Decoder() = default;

  struct Progress {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool member_ended = false;
    std::string error;  // empty: none
  };

  virtual Progress Step(std::string_view packed, std::span<char> out) = 0;
  virtual void Restart() = 0;
  virtual const char* name() const = 0;
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { Restart(); }

  void Restart() override {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  Progress Step(std::string_view packed, std::span<char> out) override {
    // ISA-L counts in 32 bits.
    constexpr std::size_t kMaxStep = 1U << 30;
    const std::size_t in_size = std::min(packed.size(), kMaxStep);
    const std::size_t out_size = std::min(out.size(), kMaxStep);
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));
    state_.avail_in = static_cast<std::uint32_t>(in_size);
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = static_cast<std::uint32_t>(out_size);
    const int status = isal_inflate(&state_);
    Progress progress{.consumed = in_size - state_.avail_in,
                      .produced = out_size - state_.avail_out,
                      .member_ended = state_.block_state == ISAL_BLOCK_FINISH,
                      .error = {}};
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT && status != ISAL_OUT_OVERFLOW) {
      progress.error =
          status == ISAL_INCORRECT_CHECKSUM ? "its checksum is wrong" : "the data are damaged";
    }
    return progress;
  }

  const char* name() const override { return "gzip"; }

 private:
  inflate_state state_;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) { Restart(); }

  void Restart() override { wanted_ = ZSTD_initDStream(stream_.get()); }

  // Feeds no more than the decoder requests, one block per step: the output of a step is lost when
  // damage follows in the same step.
  Progress Step(std::string_view packed, std::span<char> out) override {
    ZSTD_inBuffer in{packed.data(), std::min(packed.size(), wanted_), 0};
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &target, &in);
    Progress progress{
        .consumed = in.pos, .produced = target.pos, .member_ended = status == 0, .error = {}};
    if (ZSTD_isError(status) != 0) {
      progress.error = ZSTD_getErrorName(status);
    }
    wanted_ = status;
    return progress;
  }

  const char* name() const override { return "zstd"; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  std::size_t wanted_ = 0;
};

class UnpackingSource : public ByteSource {
 public:
  UnpackingSource(std::unique_ptr<ByteSource> packed, const UnpackLimits& limits)
      : input_(std::move(packed)), limits_(limits) {}

  Result<std::size_t> Read(std::span<char> buffer) override {
    if (!started_) {
      ORRERY_TRY_STATUS(Start());
    }
    if (ended_ || buffer.empty()) {
      return std::size_t{0};
    }
    ORRERY_TRY(const std::size_t count, decoder_ == nullptr ? Pass(buffer) : Decode(buffer));
    unpacked_ += static_cast<std::int64_t>(count);
    if (decoder_ != nullptr && unpacked_ > limits_.free_bytes &&
        static_cast<double>(unpacked_) >
            limits_.max_ratio * static_cast<double>(input_.consumed())) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("{} data unpack to more than {} times their size; if you trust the "
                              "file, raise the limit with --max-unpack-ratio",
                              decoder_->name(), limits_.max_ratio));
    }
    return count;
  }

  std::string damage() const override { return damage_; }

 private:
  Status Start() {
    started_ = true;
    ORRERY_TRY_STATUS(input_.Refill(4));
    switch (SniffCompression(input_.view())) {
      case Compression::kNone:
        break;
      case Compression::kGzip:
        decoder_ = std::make_unique<GzipDecoder>();
        break;
      case Compression::kZstd:
        decoder_ = std::make_unique<ZstdDecoder>();
        break;
    }
    return {};
  }

  Result<std::size_t> Pass(std::span<char> buffer) {
    ORRERY_TRY_STATUS(input_.Refill(1));
    const std::size_t count = std::min(buffer.size(), input_.size());
    std::copy_n(input_.view().begin(), count, buffer.begin());
    input_.Consume(count);
    return count;
  }

  // Returns at least one byte unless the data end.
  Result<std::size_t> Decode(std::span<char> buffer) {
    while (true) {
      ORRERY_TRY_STATUS(input_.Refill(1));
      const bool at_end = input_.size() == 0;
      const Decoder::Progress progress = decoder_->Step(input_.view(), buffer);
      input_.Consume(progress.consumed);
      if (!progress.error.empty()) {
        return EndEarly(progress.error, progress.produced);
      }
      if (progress.member_ended) {
        ORRERY_TRY_STATUS(NextMember());
      } else if (at_end && progress.produced == 0) {
        return EndEarly("the data end early", 0);
      }
      if (progress.produced > 0 || ended_) {
        return progress.produced;
      }
    }
  }

  std::size_t EndEarly(std::string_view why, std::size_t produced) {
    damage_ = fmt::format("{}: {} (packed byte {})", decoder_->name(), why, input_.consumed());
    ended_ = true;
    return produced;
  }

  // A packed file may be several packed files in a row; anything else after one is noise.
  Status NextMember() {
    ORRERY_TRY_STATUS(input_.Refill(4));
    if (input_.size() == 0) {
      ended_ = true;
    } else if (SniffCompression(input_.view()) == Compression::kNone) {
      EndEarly("other bytes follow the packed data", 0);
    } else {
      decoder_->Restart();
    }
    return {};
  }

  PackedInput input_;
  UnpackLimits limits_;
  std::unique_ptr<Decoder> decoder_;
  std::int64_t unpacked_ = 0;
  bool started_ = false;
  bool ended_ = false;
  std::string damage_;
};

// Most devices have no end: a link to /dev/zero in a folder of traces would fill the memory.
bool IsDeviceWithoutEnd(int descriptor, const struct stat& status) {
  if (S_ISBLK(status.st_mode)) {
    return true;
  }
  struct stat null_device{};
  const bool is_null =
      stat("/dev/null", &null_device) == 0 && null_device.st_rdev == status.st_rdev;
  return S_ISCHR(status.st_mode) && !is_null && isatty(descriptor) == 0;
}

}  // namespace

Compression SniffCompression(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) {
    return Compression::kGzip;
  }
  if (head.starts_with("\x28\xb5\x2f\xfd")) {
    return Compression::kZstd;
  }
  return Compression::kNone;
}

Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const auto kind = errno == ENOENT ? Error::Kind::kNotFound : Error::Kind::kSystem;
    return Fail(kind, fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  auto source = std::make_unique<FileSource>(descriptor);
  struct stat status{};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    return Invalid("{}: is a directory", path);
  }
  if (IsDeviceWithoutEnd(descriptor, status)) {
    return Invalid("{}: is a device; name a file", path);
  }
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return source;
}

std::unique_ptr<ByteSource> OpenMemory(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::unique_ptr<ByteSource> Unpack(std::unique_ptr<ByteSource> packed, const UnpackLimits& limits) {
  return std::make_unique<UnpackingSource>(std::move(packed), limits);
}

Result<std::size_t> ReadFully(ByteSource& source, std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    ORRERY_TRY(const std::size_t count, source.Read(buffer.subspan(filled)));
    if (count == 0) {
      break;
    }
    filled += count;
  }
  return filled;
}

Result<std::string> ReadAll(ByteSource& source, std::int64_t max_bytes) {
  std::string all;
  std::size_t chunk = 64 << 10;
  while (true) {
    const std::size_t before = all.size();
    all.resize(before + chunk);
    ORRERY_TRY(const std::size_t count, ReadFully(source, std::span(all).subspan(before, chunk)));
    all.resize(before + count);
    if (static_cast<std::int64_t>(all.size()) > max_bytes) {
      return Fail(Error::Kind::kLimit, fmt::format("larger than {} bytes", max_bytes));
    }
    if (count < chunk) {
      return all;
    }
    chunk = std::min<std::size_t>(2 * chunk, 64 << 20);
  }
}

}  // namespace orrery
