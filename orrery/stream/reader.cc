#include "orrery/stream/reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <zstd.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/zstd_frame.h"
#include "orrery/stream/format.h"

namespace orrery::stream {
namespace {

// Read size; memory grows only as far as the file has bytes, whatever a header claims.
constexpr std::size_t kReadBytes = 1 << 20;

bool IsPlausible(const ChunkHeader& header) {
  const bool is_packed = header.codec == Codec::kZstd;
  return header.raw_bytes <= kMaxRawBytes &&
         header.stored_bytes <= ZSTD_COMPRESSBOUND(kMaxRawBytes) &&
         (is_packed || (header.codec == Codec::kNone && header.stored_bytes == header.raw_bytes));
}

Status CheckVersion(std::uint16_t major) {
  if (major == kMajorVersion) {
    return {};
  }
  return Fail(Error::Kind::kUnsupported,
              fmt::format("the stream has version {}, and this Orrery reads version {}: use {}",
                          major, kMajorVersion,
                          major > kMajorVersion ? "a newer Orrery" : "a whole copy of the file"));
}

// Packs streams of a gigabyte in seconds; higher levels gain a few per cent.
constexpr int kFastLevel = 9;

// Returns the packed payload, or the payload itself if it does not shrink.
std::string_view Pack(std::string_view payload, int level, std::string& packed) {
  packed.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), level);
  ORRERY_CHECK(ZSTD_isError(size) == 0, "zstd packs what fits its bound");
  return size < payload.size() ? std::string_view(packed).substr(0, size) : payload;
}

Status WriteChunk(const Chunk& chunk, int level, std::string& packed, ByteSink& sink,
                  Recompressed& done) {
  const std::string_view stored = Pack(chunk.payload, level, packed);
  ChunkHeader header = chunk.header;
  done.bytes_before += static_cast<std::int64_t>(kChunkHeaderBytes + header.stored_bytes);
  header.codec = stored.size() < chunk.payload.size() ? Codec::kZstd : Codec::kNone;
  header.raw_bytes = static_cast<std::uint32_t>(chunk.payload.size());
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.payload_crc = Crc32c(stored);
  std::array<char, kChunkHeaderBytes> bytes{};
  EncodeChunkHeader(header, bytes.data());
  ORRERY_TRY_STATUS(sink.Write({bytes.data(), bytes.size()}));
  ORRERY_TRY_STATUS(sink.Write(stored));
  done.bytes_after += static_cast<std::int64_t>(bytes.size() + stored.size());
  ++done.num_chunks;
  return {};
}

}  // namespace

bool IsStream(std::string_view head) {
  return head.starts_with(kMagic);
}

Result<StreamReader> StreamReader::Open(ByteSource& source) {
  StreamReader reader(source);
  ORRERY_TRY(const bool has_header, reader.Fill(kFileHeaderBytes));
  if (!IsStream(reader.rest())) {
    return Fail(Error::Kind::kInvalidInput, "not a recorded event stream");
  }
  if (!has_header) {
    return Fail(Error::Kind::kInvalidInput,
                "the stream ends inside its header: nothing was recorded");
  }
  ORRERY_TRY_STATUS(CheckVersion(frame::Get<std::uint16_t>(reader.rest(), 4)));
  reader.minor_version_ = frame::Get<std::uint16_t>(reader.rest(), 6);
  reader.Consume(kFileHeaderBytes);
  return reader;
}

Result<const Chunk*> StreamReader::Next() {
  while (true) {
    ORRERY_TRY(const bool has_header, Fill(kChunkHeaderBytes));
    if (!has_header) {
      Skip(rest().size());
      losses_.is_torn = in_damage_;
      return nullptr;
    }
    if (!IsChunkHeader(rest())) {
      SkipToMarker();
      continue;
    }
    const ChunkHeader header = DecodeChunkHeader(rest());
    const std::size_t whole = kChunkHeaderBytes + header.stored_bytes;
    bool is_intact = IsPlausible(header);
    if (is_intact) {
      ORRERY_TRY(is_intact, Fill(whole));
    }
    if (!is_intact || !TakePayload(header, rest().substr(kChunkHeaderBytes, header.stored_bytes))) {
      ++losses_.num_damaged_chunks;
      losses_.num_lost_records += header.num_records;
      SkipToMarker();
      continue;
    }
    chunk_.header = header;
    chunk_.offset = offset_;
    Consume(whole);
    in_damage_ = false;
    if (header.type >= ChunkType::kHeader && header.type <= ChunkType::kCalibration) {
      return &chunk_;
    }
    if (losses_.num_unknown_chunks++ == 0) {
      losses_.first_unknown_type = static_cast<std::uint16_t>(header.type);
    }
  }
}

// Makes at least `bytes` bytes available if the source has them.
Result<bool> StreamReader::Fill(std::size_t bytes) {
  if (rest().size() < bytes && begin_ > 0) {
    window_.erase(0, begin_);
    begin_ = 0;
  }
  while (rest().size() < bytes && !at_end_) {
    const std::size_t before = window_.size();
    window_.resize(before + kReadBytes);
    auto count = ReadFully(*source_, std::span(window_).subspan(before));
    window_.resize(before + (count ? *count : 0));
    if (!count) {
      return tl::unexpected(std::move(count).error());
    }
    at_end_ = *count < kReadBytes;
  }
  return rest().size() >= bytes;
}

std::string_view StreamReader::rest() const {
  return std::string_view(window_).substr(begin_);
}

void StreamReader::Consume(std::size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

void StreamReader::Skip(std::size_t bytes) {
  if (bytes == 0) {
    return;
  }
  if (losses_.num_skipped_bytes == 0) {
    losses_.first_damage = offset_;
  }
  losses_.num_skipped_bytes += bytes;
  in_damage_ = true;
  Consume(bytes);
}

// A chunk that is not intact may end anywhere, so the search begins right behind its first byte.
void StreamReader::SkipToMarker() {
  const std::size_t found = rest().find(kMarker, 1);
  const std::size_t kept = kMarker.size() - 1;
  Skip(found != std::string_view::npos ? found : std::max(rest().size() - kept, std::size_t{1}));
}

// Checks the payload and unpacks it; what it needs is bounded by what the header may claim.
bool StreamReader::TakePayload(const ChunkHeader& header, std::string_view stored) {
  if (Crc32c(stored) != header.payload_crc) {
    return false;
  }
  chunk_.payload = stored;
  if (header.codec == Codec::kNone) {
    return true;
  }
  unpacked_.resize(header.raw_bytes);
  const std::size_t size =
      ZSTD_decompress(unpacked_.data(), unpacked_.size(), stored.data(), stored.size());
  chunk_.payload = unpacked_;
  return size == header.raw_bytes;
}

Result<Recompressed> Recompress(ByteSource& source, ByteSink& sink, bool smallest) {
  ORRERY_TRY(StreamReader reader, StreamReader::Open(source));
  auto header = FileHeader();
  frame::Put(header.data(), 6, reader.minor_version());
  ORRERY_TRY_STATUS(sink.Write({header.data(), header.size()}));
  Recompressed done;
  const int level = smallest ? kSmallestZstdLevel : kFastLevel;
  std::string packed;
  while (true) {
    ORRERY_TRY(const Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    ORRERY_TRY_STATUS(WriteChunk(*chunk, level, packed, sink, done));
  }
  done.losses = reader.losses();
  return done;
}

}  // namespace orrery::stream
