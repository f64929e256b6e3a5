#include "bench/output_file.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/types.h>
#include <unistd.h>

#include "orrery/base/error.h"

namespace orrery::bench {

namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 20;

class PlainFile : public OutputFile {
 public:
  PlainFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  ~PlainFile() override {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0) {
        return Refused("cannot write");
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  Status Close() override {
    if (::close(std::exchange(descriptor_, -1)) != 0) {
      return Refused("cannot close");
    }
    return {};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Refused(std::string_view what) const {
    return Fail(Error::Kind::kSystem, fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
  }

  int descriptor_;
  std::string path_;
};

/// Packs on the way to another file.
class GzipFile : public OutputFile {
 public:
  explicit GzipFile(std::unique_ptr<OutputFile> packed)
      : packed_(std::move(packed)), level_buffer_(ISAL_DEF_LVL1_DEFAULT), output_(kBufferSize) {
    isal_deflate_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }

  Status Write(std::string_view bytes) override { return Deflate(bytes, false); }

  Status Close() override {
    ORRERY_TRY_STATUS(Deflate({}, true));
    return packed_->Close();
  }

 private:
  Status Deflate(std::string_view bytes, bool is_last) {
    std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    stream_.next_in = input.data();
    stream_.avail_in = static_cast<std::uint32_t>(input.size());
    stream_.end_of_stream = is_last ? 1 : 0;
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<std::uint32_t>(output_.size());
      if (isal_deflate(&stream_) != COMP_OK) {
        return Fail(Error::Kind::kSystem, "gzip: cannot pack");
      }
      const std::size_t size = output_.size() - stream_.avail_out;
      ORRERY_TRY_STATUS(packed_->Write({reinterpret_cast<const char*>(output_.data()), size}));
    } while (stream_.avail_out == 0);
    return {};
  }

  std::unique_ptr<OutputFile> packed_;
  std::vector<std::uint8_t> level_buffer_;
  std::vector<std::uint8_t> output_;
  isal_zstream stream_{};
};

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Fail(Error::Kind::kSystem,
                fmt::format("{}: cannot create: {}", path, std::strerror(errno)));
  }
  std::unique_ptr<OutputFile> file = std::make_unique<PlainFile>(descriptor, path);
  if (path.ends_with(".gz")) {
    file = std::make_unique<GzipFile>(std::move(file));
  }
  return file;
}

TextWriter::TextWriter(OutputFile* file)
    : file_(file), buffer_(std::make_unique_for_overwrite<char[]>(kBufferSize)) {}

char* TextWriter::Reserve(std::size_t size) {
  if (used_ + size > kBufferSize) {
    Flush();
  }
  return buffer_.get() + used_;
}

void TextWriter::Flush() {
  if (file_ != nullptr && status_) {
    status_ = file_->Write({buffer_.get(), used_});
  }
  flushed_bytes_ += static_cast<std::int64_t>(used_);
  used_ = 0;
}

void TextWriter::Text(std::string_view text) {
  while (text.size() > kBufferSize) {
    Text(text.substr(0, kBufferSize));
    text.remove_prefix(kBufferSize);
  }
  std::memcpy(Reserve(text.size()), text.data(), text.size());
  used_ += text.size();
}

void TextWriter::Number(std::int64_t value) {
  constexpr std::size_t kMaxDigits = 24;
  char* begin = Reserve(kMaxDigits);
  used_ += static_cast<std::size_t>(std::to_chars(begin, begin + kMaxDigits, value).ptr - begin);
}

void TextWriter::Microseconds(std::int64_t nanoseconds) {
  Number(nanoseconds / 1000);
  const auto rest = static_cast<int>(nanoseconds % 1000);
  char* out = Reserve(4);
  out[0] = '.';
  out[1] = static_cast<char>('0' + rest / 100);
  out[2] = static_cast<char>('0' + rest / 10 % 10);
  out[3] = static_cast<char>('0' + rest % 10);
  used_ += 4;
}

Status TextWriter::Finish() {
  Flush();
  return status_;
}

}  // namespace orrery::bench
