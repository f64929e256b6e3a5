#include "orrery/base/file/byte_sink.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <zstd.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/unfinished_file.h"

namespace orrery {
namespace {

constexpr std::size_t kPackedBufferBytes = 1 << 20;
// 3 is zstd's own default: traces shrink 20-fold at several hundred MB/s.
constexpr int kZstdLevel = 3;

tl::unexpected<Error> FailWithErrno(std::string_view doing, const std::string& path) {
  return Fail(Error::Kind::kSystem,
              fmt::format("{}: cannot {}: {}", path, doing, std::strerror(errno)));
}

Status WriteDescriptor(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return FailWithErrno("write", path);
    }
  }
  return {};
}

class FileSink : public ByteSink {
 public:
  // An empty `temporary` means that `path` itself is open.
  FileSink(int descriptor, std::string path, std::string temporary)
      : descriptor_(descriptor), path_(std::move(path)) {
    if (!temporary.empty()) {
      temporary_.emplace(std::move(temporary));
    }
  }

  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  ~FileSink() override {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
    if (temporary_) {
      unlink(temporary_->path().c_str());
    }
  }

  Status Write(std::string_view bytes) override {
    return WriteDescriptor(descriptor_, bytes, path_);
  }

  Status Close() override {
    if (close(std::exchange(descriptor_, -1)) != 0) {
      return FailWithErrno("write", path_);
    }
    if (temporary_ && std::rename(temporary_->path().c_str(), path_.c_str()) != 0) {
      return FailWithErrno("replace", path_);
    }
    temporary_.reset();
    return {};
  }

 private:
  int descriptor_;
  std::string path_;
  std::optional<UnfinishedFile> temporary_;
};

// The file that opening `path` for writing would create or change, also at the end of a link to
// nothing. `path` is not part of a loop of links.
std::filesystem::path FollowLinks(std::filesystem::path path) {
  std::error_code failed;
  while (std::filesystem::is_symlink(path, failed)) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return path;
}

constexpr std::string_view kTemporaryPrefix = ".orrery-part-";

// Hidden, so that folders are read without it, and short whatever the name of the target. Random,
// because process numbers repeat where containers share a folder.
std::string TemporaryName() {
  std::uint64_t bits = 0;
  ORRERY_CHECK(getentropy(&bits, sizeof bits) == 0, "the system has random bytes");
  return fmt::format("{}{:016x}", kTemporaryPrefix, bits);
}

// Errors are ignored: a user may not be allowed to change the owner, and some file systems have no
// modes.
void KeepOwnerAndMode(int descriptor, const struct stat& replaced) {
  [[maybe_unused]] const int owner = fchown(descriptor, replaced.st_uid, replaced.st_gid);
  [[maybe_unused]] const int mode = fchmod(descriptor, replaced.st_mode & 0777);
}

class GzipSink : public ByteSink {
 public:
  explicit GzipSink(std::unique_ptr<ByteSink> packed)
      : packed_(std::move(packed)), level_buffer_(ISAL_DEF_LVL1_DEFAULT), out_(kPackedBufferBytes) {
    isal_deflate_init(&stream_);
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.level = 1;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
  }

  Status Write(std::string_view bytes) override {
    constexpr std::size_t kMaxStep = 1 << 30;  // the library counts in 32 bits
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kMaxStep);
      ORRERY_TRY_STATUS(Deflate(part));
      bytes.remove_prefix(part.size());
    }
    return {};
  }

  Status Close() override {
    stream_.end_of_stream = 1;
    ORRERY_TRY_STATUS(Deflate({}));
    return packed_->Close();
  }

 private:
  Status Deflate(std::string_view bytes) {
    // The interface is not const-correct; the input is only read.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<std::uint8_t*>(out_.data());
      stream_.avail_out = static_cast<std::uint32_t>(out_.size());
      ORRERY_CHECK(isal_deflate(&stream_) == COMP_OK, "deflate has all the buffers it asks for");
      ORRERY_TRY_STATUS(packed_->Write({out_.data(), out_.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return {};
  }

  std::unique_ptr<ByteSink> packed_;
  std::vector<std::uint8_t> level_buffer_;
  std::vector<char> out_;
  isal_zstream stream_ = {};
};

class ZstdSink : public ByteSink {
 public:
  explicit ZstdSink(std::unique_ptr<ByteSink> packed)
      : packed_(std::move(packed)),
        context_(ZSTD_createCCtx(), ZSTD_freeCCtx),
        out_(kPackedBufferBytes) {
    ORRERY_CHECK(context_ != nullptr, "memory for a zstd context");
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  Status Write(std::string_view bytes) override { return Compress(bytes, ZSTD_e_continue); }

  Status Close() override {
    ORRERY_TRY_STATUS(Compress({}, ZSTD_e_end));
    return packed_->Close();
  }

 private:
  Status Compress(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer out = {out_.data(), out_.size(), 0};
      left = ZSTD_compressStream2(context_.get(), &out, &in, directive);
      if (ZSTD_isError(left) != 0) {
        return Fail(Error::Kind::kSystem,
                    fmt::format("cannot compress with zstd: {}", ZSTD_getErrorName(left)));
      }
      ORRERY_TRY_STATUS(packed_->Write({out_.data(), out.pos}));
    } while (in.pos < in.size || (directive == ZSTD_e_end && left > 0));
    return {};
  }

  std::unique_ptr<ByteSink> packed_;
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<char> out_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> CreateFile(const std::string& path) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) {
    return FailWithErrno("create", path);
  }
  if (exists && !S_ISREG(info.st_mode)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) {
      return FailWithErrno("write", path);
    }
    return std::make_unique<FileSink>(descriptor, path, "");
  }
  if (exists && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return FailWithErrno("write", path);
  }
  const std::filesystem::path target = FollowLinks(path);
  std::string temporary = target.parent_path() / TemporaryName();
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return FailWithErrno("create", path);
  }
  if (exists) {
    KeepOwnerAndMode(descriptor, info);
  }
  return std::make_unique<FileSink>(descriptor, target, std::move(temporary));
}

bool IsUnfinishedFile(std::string_view name) {
  // "x.json.part" is a name of orrery-capture, "x.json.part-123" one of earlier versions.
  constexpr std::string_view kPart = ".part";
  const std::size_t part = std::min(name.rfind(kPart), name.size());
  const std::string_view rest = name.substr(std::min(part + kPart.size(), name.size()));
  return name.starts_with(kTemporaryPrefix) ||
         (part < name.size() &&
          (rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                            rest.find_first_not_of("0123456789", 1) == std::string_view::npos)));
}

std::unique_ptr<ByteSink> Pack(std::unique_ptr<ByteSink> packed, Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipSink>(std::move(packed));
    case Compression::kZstd:
      return std::make_unique<ZstdSink>(std::move(packed));
    case Compression::kNone:
      break;
  }
  return packed;
}

Result<std::unique_ptr<ByteSink>> CreatePackedFile(const std::string& path) {
  ORRERY_TRY(std::unique_ptr<ByteSink> file, CreateFile(path));
  return Pack(std::move(file), CompressionOfName(path));
}

std::string Pack(std::string_view bytes, Compression compression) {
  auto memory = std::make_unique<MemorySink>();
  const MemorySink& packed = *memory;
  const auto sink = Pack(std::move(memory), compression);
  const bool done = sink->Write(bytes) && sink->Close();
  ORRERY_CHECK(done, "packing in memory cannot fail");
  return packed.bytes();
}

Compression CompressionOfName(std::string_view path) {
  if (path.ends_with(".gz")) {
    return Compression::kGzip;
  }
  return path.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  ORRERY_TRY(const std::unique_ptr<ByteSink> file, CreatePackedFile(path));
  ORRERY_TRY_STATUS(file->Write(bytes));
  return file->Close();
}

}  // namespace orrery
