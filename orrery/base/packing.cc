#include "orrery/base/packing.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "orrery/base/check.h"

namespace orrery {
namespace {

// Feeds ISA-L pieces, because it counts in 32 bits.
std::string PackGzip(std::string_view bytes) {
  constexpr std::size_t kPieceBytes = 1 << 20;
  std::vector<std::uint8_t> level_buffer(ISAL_DEF_LVL1_DEFAULT);
  std::vector<char> piece(kPieceBytes);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.level = 1;
  stream.level_buf = level_buffer.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level_buffer.size());
  std::string packed;
  do {
    const std::string_view next = bytes.substr(0, kPieceBytes);
    bytes.remove_prefix(next.size());
    stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(next.data()));
    stream.avail_in = static_cast<std::uint32_t>(next.size());
    stream.end_of_stream = bytes.empty() ? 1 : 0;
    do {
      stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
      stream.avail_out = kPieceBytes;
      ORRERY_CHECK(isal_deflate(&stream) == COMP_OK, "gzip of bytes in memory cannot fail");
      packed.append(piece.data(), kPieceBytes - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (stream.internal_state.state != ZSTATE_END);
  return packed;
}

std::string PackZstd(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), bytes.data(), bytes.size());
  ORRERY_CHECK(ZSTD_isError(size) == 0, "zstd of bytes in memory cannot fail");
  packed.resize(size);
  return packed;
}

tl::unexpected<Error> FailWriting(const std::string& path) {
  return Fail(Error::Kind::kSystem,
              fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace

std::string Pack(std::string_view bytes, Compression compression) {
  switch (compression) {
    case Compression::kNone:
      break;
    case Compression::kGzip:
      return PackGzip(bytes);
    case Compression::kZstd:
      return PackZstd(bytes);
  }
  return std::string(bytes);
}

Compression CompressionOfName(std::string_view path) {
  if (path.ends_with(".gz")) {
    return Compression::kGzip;
  }
  return path.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  const std::string packed = Pack(bytes, CompressionOfName(path));
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return FailWriting(path);
  }
  const bool written = std::fwrite(packed.data(), 1, packed.size(), file) == packed.size();
  // A full disk may show only when the last buffer is flushed.
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    return FailWriting(path);
  }
  return {};
}

}  // namespace orrery
