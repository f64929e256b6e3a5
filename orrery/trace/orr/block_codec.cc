#include "orrery/trace/orr/block_codec.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <xxhash.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/file/zstd_frame.h"
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {
namespace {

constexpr int kFastLevel = 1;

auto Damaged(std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}", what, kDamageFix));
}

template <typename T>
T Load(const void* data, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(void* data, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * sizeof(T), &value, sizeof(T));
}

// Calls `visit(T{})` with the unsigned type of that many bytes.
template <typename Visit>
auto WithUnsigned(std::size_t bytes, Visit&& visit) {
  switch (bytes) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

// All arithmetic is modulo 2^bits, so it never overflows and every value comes back. The range is
// that of signed numbers: kNoRow and -1 are then next to 0.
template <typename U>
struct Range {
  using Signed = std::make_signed_t<U>;

  Signed smallest = std::numeric_limits<Signed>::max();
  Signed largest = std::numeric_limits<Signed>::min();

  void Add(U value) {
    smallest = std::min(smallest, static_cast<Signed>(value));
    largest = std::max(largest, static_cast<Signed>(value));
  }

  [[nodiscard]] U base() const { return static_cast<U>(smallest); }

  [[nodiscard]] std::uint8_t width() const {
    const auto span = static_cast<U>(static_cast<U>(largest) - static_cast<U>(smallest));
    if (span == 0) {
      return 0;
    }
    const std::uint64_t wide = span;
    return wide <= 0xFF ? 1 : wide <= 0xFFFF ? 2 : wide <= 0xFFFF'FFFF ? 4 : 8;
  }
};

template <typename U>
U DeltaAt(const RawValues& values, std::size_t index) {
  return static_cast<U>(Load<U>(values.data, index) - Load<U>(values.data, index - 1));
}

template <typename U>
U FromRowAt(const RawValues& values, std::size_t index) {
  return static_cast<U>(Load<U>(values.data, index) - static_cast<U>(index));
}

template <typename U>
Range<U> RangeOfValues(const RawValues& values) {
  Range<U> range;
  for (std::size_t i = 0; i < values.count; ++i) {
    range.Add(Load<U>(values.data, i));
  }
  return range;
}

template <typename U>
Range<U> RangeFromRows(const RawValues& values) {
  Range<U> range;
  for (std::size_t i = 0; i < values.count; ++i) {
    range.Add(FromRowAt<U>(values, i));
  }
  return range;
}

template <typename U>
Range<U> RangeOfDeltas(const RawValues& values) {
  Range<U> range;
  for (std::size_t i = 1; i < values.count; ++i) {
    range.Add(DeltaAt<U>(values, i));
  }
  return range;
}

// Puts `from(i) - base` for each value into `plain`, in `width` bytes.
template <typename U, typename From>
void Narrow(std::size_t count, std::uint8_t width, U base, From&& from, std::string& plain) {
  plain.resize(count * width);
  if (width == 0) {
    return;
  }
  WithUnsigned(width, [&]<typename Stored>(Stored) {
    for (std::size_t i = 0; i < count; ++i) {
      Store(plain.data(), i, static_cast<Stored>(static_cast<U>(from(i) - base)));
    }
  });
}

template <typename U>
void NarrowValues(const RawValues& values, const BlockEntry& entry, std::string& plain) {
  const auto base = static_cast<U>(entry.base);
  if (entry.transform == Transform::kOffset) {
    Narrow<U>(
        values.count, entry.width, base, [&](std::size_t i) { return Load<U>(values.data, i); },
        plain);
  } else if (entry.transform == Transform::kRow) {
    Narrow<U>(
        values.count, entry.width, base, [&](std::size_t i) { return FromRowAt<U>(values, i); },
        plain);
  } else {
    Narrow<U>(
        values.count, entry.width, base,
        [&](std::size_t i) { return i == 0 ? base : DeltaAt<U>(values, i); }, plain);
  }
}

template <typename U>
BlockEntry DeltaEntry(const RawValues& values) {
  const Range<U> deltas = RangeOfDeltas<U>(values);
  return {.transform = Transform::kDelta,
          .width = deltas.width(),
          .base = deltas.base(),
          .first = Load<U>(values.data, 0)};
}

template <typename U>
BlockEntry RowEntry(const RawValues& values) {
  const Range<U> distances = RangeFromRows<U>(values);
  return {.transform = Transform::kRow, .width = distances.width(), .base = distances.base()};
}

// Returns the transforms worth trying. The narrower one wins; between equals only packing decides,
// and for the smallest file it decides between all.
template <typename U>
std::vector<BlockEntry> Candidates(const RawValues& values, bool smallest) {
  const Range<U> offsets = RangeOfValues<U>(values);
  const BlockEntry offset{.width = offsets.width(), .base = offsets.base()};
  if (offset.width == 0) {
    return {offset};
  }
  const BlockEntry delta = DeltaEntry<U>(values);
  if (smallest) {
    return {offset, delta, RowEntry<U>(values)};
  }
  if (delta.width < offset.width) {
    return {delta};
  }
  if (delta.width > offset.width || offset.width == 1) {
    return {offset};
  }
  return {offset, delta};
}

template <typename U, typename Stored>
void WidenOffsets(const char* plain, std::size_t count, U base, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    Store(out, i, static_cast<U>(base + static_cast<U>(Load<Stored>(plain, i))));
  }
}

template <typename U, typename Stored>
void WidenDeltas(const char* plain, std::size_t count, U base, U first, std::byte* out) {
  // The first stored delta is 0, so that the sum begins at `first`.
  U value = static_cast<U>(first - base);
  for (std::size_t i = 0; i < count; ++i) {
    value = static_cast<U>(value + base + static_cast<U>(Load<Stored>(plain, i)));
    Store(out, i, value);
  }
}

template <typename U, typename Stored>
void WidenFromRows(const char* plain, std::size_t count, U base, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    Store(out, i,
          static_cast<U>(base + static_cast<U>(i) + static_cast<U>(Load<Stored>(plain, i))));
  }
}

template <typename U>
void FillWithoutStored(const BlockEntry& block, std::size_t count, std::byte* out) {
  const bool is_delta = block.transform == Transform::kDelta;
  const auto base = static_cast<U>(block.base);
  const auto step = is_delta ? base : static_cast<U>(block.transform == Transform::kRow ? 1 : 0);
  U value = is_delta ? static_cast<U>(block.first) : base;
  for (std::size_t i = 0; i < count; ++i) {
    Store(out, i, value);
    value = static_cast<U>(value + step);
  }
}

template <typename U>
void Widen(const BlockEntry& block, const char* plain, std::size_t count, std::byte* out) {
  if (block.width == 0) {
    FillWithoutStored<U>(block, count, out);
    return;
  }
  const auto base = static_cast<U>(block.base);
  WithUnsigned(block.width, [&]<typename Stored>(Stored) {
    if (block.transform == Transform::kOffset) {
      WidenOffsets<U, Stored>(plain, count, base, out);
    } else if (block.transform == Transform::kRow) {
      WidenFromRows<U, Stored>(plain, count, base, out);
    } else {
      WidenDeltas<U, Stored>(plain, count, base, static_cast<U>(block.first), out);
    }
  });
}

void ToPlanes(std::string_view plain, std::size_t width, std::string& planes) {
  const std::size_t count = plain.size() / width;
  planes.resize(plain.size());
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i) {
      planes[byte * count + i] = plain[i * width + byte];
    }
  }
}

void FromPlanes(const char* planes, std::size_t width, std::size_t count, char* plain) {
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i) {
      plain[i * width + byte] = planes[byte * count + i];
    }
  }
}

// Reading raw bytes costs nothing, so a saving below an eighth does not pay, unless size is all.
bool Pays(std::size_t packed, std::size_t plain, bool smallest) {
  return packed < plain - (smallest ? 0 : plain / 8);
}

}  // namespace

EncodedBlock BlockEncoder::Encode(const RawValues& values) {
  std::optional<EncodedBlock> best;
  WithUnsigned(values.value_bytes, [&]<typename U>(U) {
    for (const BlockEntry& candidate : Candidates<U>(values, smallest_)) {
      EncodedBlock block{.entry = candidate, .bytes = {}};
      NarrowValues<U>(values, candidate, plain_);
      Pack(block, plain_);
      if (!best || block.bytes.size() < best->bytes.size()) {
        best = std::move(block);
      }
    }
  });
  return *std::move(best);
}

EncodedBlock BlockEncoder::EncodeCharacters(std::string_view characters) {
  EncodedBlock block;
  block.entry.width = 1;
  Pack(block, characters);
  return block;
}

void BlockEncoder::Pack(EncodedBlock& block, std::string_view plain) {
  const bool in_planes = smallest_ && block.entry.width > 1;
  if (in_planes) {
    ToPlanes(plain, block.entry.width, planes_);
  }
  const std::string_view content = in_planes ? std::string_view(planes_) : plain;
  block.bytes.resize(ZSTD_compressBound(plain.size()));
  const std::size_t packed =
      ZSTD_compressCCtx(context_.get(), block.bytes.data(), block.bytes.size(), content.data(),
                        content.size(), smallest_ ? kSmallestZstdLevel : kFastLevel);
  ORRERY_CHECK(!ZSTD_isError(packed), "zstd packs into a buffer of its own bound");
  if (Pays(packed, plain.size(), smallest_)) {
    block.entry.packing = in_planes ? Packing::kZstdPlanes : Packing::kZstd;
    block.bytes.resize(packed);
  } else {
    block.bytes = plain;
  }
  block.bytes.shrink_to_fit();
  block.entry.stored_bytes = static_cast<std::uint32_t>(block.bytes.size());
  block.entry.checksum = XXH64(block.bytes.data(), block.bytes.size(), 0);
}

Result<const std::byte*> BlockDecoder::Decode(const BlockEntry& block, std::size_t value_bytes,
                                              std::size_t count) {
  const bool is_width = block.width == 0 || (block.width <= 8 && std::has_single_bit(block.width));
  if (!is_width || block.width > value_bytes) {
    return Damaged(
        fmt::format("values of {} bytes cannot be stored in {}", value_bytes, block.width));
  }
  ORRERY_TRY(const std::string_view stored, StoredBytes(block));
  ORRERY_TRY(const char* const plain, PlainBytes(block, stored, count));
  values_.resize(std::max(values_.size(), count * value_bytes));
  WithUnsigned(value_bytes, [&]<typename U>(U) { Widen<U>(block, plain, count, values_.data()); });
  return values_.data();
}

Result<const char*> BlockDecoder::PlainBytes(const BlockEntry& block, std::string_view stored,
                                             std::size_t count) {
  const std::size_t plain_bytes = count * block.width;
  if (block.packing == Packing::kRaw) {
    if (stored.size() != plain_bytes) {
      return Damaged(fmt::format("holds {} bytes instead of {}", stored.size(), plain_bytes));
    }
    return stored.data();
  }
  plain_.resize(std::max(plain_.size(), plain_bytes));
  if (block.packing == Packing::kZstd) {
    ORRERY_TRY_STATUS(Unpack(stored, plain_.data(), plain_bytes));
    return plain_.data();
  }
  planes_.resize(std::max(planes_.size(), plain_bytes));
  ORRERY_TRY_STATUS(Unpack(stored, planes_.data(), plain_bytes));
  FromPlanes(planes_.data(), block.width, count, plain_.data());
  return plain_.data();
}

Status BlockDecoder::DecodeCharacters(const BlockEntry& block, char* out, std::size_t size) {
  ORRERY_TRY(const std::string_view stored, StoredBytes(block));
  // Characters have a width of one byte, so planes are the bytes themselves.
  if (block.packing != Packing::kRaw) {
    return Unpack(stored, out, size);
  }
  if (stored.size() != size) {
    return Damaged(fmt::format("holds {} bytes instead of {}", stored.size(), size));
  }
  std::copy(stored.begin(), stored.end(), out);
  return {};
}

Result<std::string_view> BlockDecoder::StoredBytes(const BlockEntry& block) const {
  if (block.offset > file_.size() || block.stored_bytes > file_.size() - block.offset) {
    return Damaged("lies outside the container");
  }
  const std::string_view stored = file_.substr(block.offset, block.stored_bytes);
  if (XXH64(stored.data(), stored.size(), 0) != block.checksum) {
    return Damaged("its checksum does not match");
  }
  return stored;
}

Status BlockDecoder::Unpack(std::string_view stored, char* out, std::size_t size) {
  const std::size_t unpacked =
      ZSTD_decompressDCtx(context_.get(), out, size, stored.data(), stored.size());
  if (ZSTD_isError(unpacked)) {
    return Damaged(fmt::format("zstd says {}", ZSTD_getErrorName(unpacked)));
  }
  if (unpacked != size) {
    return Damaged(fmt::format("unpacks to {} bytes instead of {}", unpacked, size));
  }
  return {};
}

}  // namespace orrery::trace::orr
