#include "orrery/stream/recompress.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <zstd.h>

#include "orrery/base/check.h"
#include "orrery/stream/crc32c.h"
#include "orrery/stream/format.h"

namespace orrery::stream {
namespace {

// Packs streams of a gigabyte in seconds; higher levels gain a few per cent.
constexpr int kLevel = 9;

// Returns the packed payload, or the payload itself if it does not shrink.
std::string_view Pack(std::string_view payload, std::string& packed) {
  packed.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), kLevel);
  ORRERY_CHECK(ZSTD_isError(size) == 0, "zstd packs what fits its bound");
  return size < payload.size() ? std::string_view(packed).substr(0, size) : payload;
}

Status WriteChunk(const Chunk& chunk, std::string& packed, ByteSink& sink, Recompressed& done) {
  const std::string_view stored = Pack(chunk.payload, packed);
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

Result<Recompressed> Recompress(ByteSource& source, ByteSink& sink) {
  ORRERY_TRY(StreamReader reader, StreamReader::Open(source));
  auto header = FileHeader();
  frame::Put(header.data(), 6, reader.minor_version());
  ORRERY_TRY_STATUS(sink.Write({header.data(), header.size()}));
  Recompressed done;
  std::string packed;
  while (true) {
    ORRERY_TRY(const Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    ORRERY_TRY_STATUS(WriteChunk(*chunk, packed, sink, done));
  }
  done.losses = reader.losses();
  return done;
}

}  // namespace orrery::stream
