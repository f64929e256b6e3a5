#include "orrery/stream/chunk_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>
#include <zstd.h>

#include "orrery/base/error.h"
#include "orrery/stream/field.h"
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"

namespace orrery::stream {
namespace {

Status ReadAt(int descriptor, std::uint64_t offset, std::span<char> buffer) {
  while (!buffer.empty()) {
    const ssize_t count =
        ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return Fail(Error::Kind::kSystem,
                  fmt::format("byte {}: {}", offset,
                              count == 0 ? "the file became shorter while it was read"
                                         : std::strerror(errno)));
    }
    buffer = buffer.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

// The launch must be the first field of what ScanLaunches scans.
template <typename Record>
consteval bool BeginsWithLaunch() {
  int num_fields = 0;
  bool begins_with_launch = false;
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>&) {
    begins_with_launch |= num_fields++ == 0 && encoding == Encoding::kReference;
  });
  return begins_with_launch;
}

static_assert(BeginsWithLaunch<Touch>() && BeginsWithLaunch<PageTouch>() &&
              BeginsWithLaunch<WarpAccess>());

void ScanLaunches(const Chunk& chunk, std::uint64_t last_kind, ChunkPlace& place) {
  Registers registers;
  VarintReader records(chunk.payload);
  for (std::uint32_t read = 0; read < chunk.header.num_records; ++read) {
    VarintReader reader(records.Bytes(records.Varint()), records);
    const std::uint64_t kind = reader.Varint();
    if (kind == 0 || records.failed() || reader.failed()) {
      return;  // readers stop here too
    }
    if (kind <= last_kind) {
      place.Include(registers.Recall<Encoding::kReference>(reader.Varint()));
    }
  }
}

void VisitAll(const Chunk& chunk, ChunkPlace& place) {
  ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (Ordered<Record>) {
      place.Include(OrderOf(record));
    }
  });
}

}  // namespace

void ChunkPlace::Include(std::uint64_t order) {
  first = is_ordered ? std::min(first, order) : order;
  last = is_ordered ? std::max(last, order) : order;
  is_ordered = true;
}

ChunkPlace PlaceOf(const Chunk& chunk) {
  ChunkPlace place{.header = chunk.header, .offset = chunk.offset};
  switch (chunk.header.type) {
    case ChunkType::kTouches:
      ScanLaunches(chunk, PageTouch::kKind, place);
      break;
    case ChunkType::kAccesses:
      ScanLaunches(chunk, WarpAccess::kKind, place);
      break;
    default:
      VisitAll(chunk, place);
  }
  return place;
}

Result<ChunkFile> ChunkFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Fail(Error::Kind::kSystem, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return ChunkFile(descriptor);
}

ChunkFile::ChunkFile(ChunkFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ChunkFile& ChunkFile::operator=(ChunkFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ChunkFile::~ChunkFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<Chunk> ChunkFile::Read(const ChunkPlace& place) {
  stored_.resize(place.header.stored_bytes);
  ORRERY_TRY_STATUS(ReadAt(descriptor_, place.offset + kChunkHeaderBytes, stored_));
  Chunk chunk{.header = place.header, .offset = place.offset, .payload = stored_};
  if (place.header.codec == Codec::kZstd) {
    unpacked_.resize(place.header.raw_bytes);
    const std::size_t size =
        ZSTD_decompress(unpacked_.data(), unpacked_.size(), stored_.data(), stored_.size());
    if (size != place.header.raw_bytes) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("byte {}: the chunk changed while it was read", place.offset));
    }
    chunk.payload = unpacked_;
  }
  return chunk;
}

}  // namespace orrery::stream
