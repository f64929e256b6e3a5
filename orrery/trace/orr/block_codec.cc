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
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {
namespace {

constexpr int kZstdLevel = 1;

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
Range<U> RangeOfValues(const RawValues& values) {
  Range<U> range;
  for (std::size_t i = 0; i < values.count; ++i) {
    range.Add(Load<U>(values.data, i));
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
  } else {
    Narrow<U>(
        values.count, entry.width, base,
        [&](std::size_t i) { return i == 0 ? base : DeltaAt<U>(values, i); }, plain);
  }
}

// Returns the transforms worth trying. The narrower one wins; between equals only packing decides.
template <typename U>
std::vector<BlockEntry> Candidates(const RawValues& values) {
  const Range<U> offsets = RangeOfValues<U>(values);
  const BlockEntry offset{.width = offsets.width(), .base = offsets.base()};
  if (offset.width == 0) {
    return {offset};
  }
  const Range<U> deltas = RangeOfDeltas<U>(values);
  const BlockEntry delta{.transform = Transform::kDelta,
                         .width = deltas.width(),
                         .base = deltas.base(),
                         .first = Load<U>(values.data, 0)};
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

template <typename U>
void FillWithoutStored(const BlockEntry& block, std::size_t count, std::byte* out) {
  const auto base = static_cast<U>(block.base);
  const bool constant = block.transform == Transform::kOffset;
  U value = constant ? base : static_cast<U>(block.first);
  for (std::size_t i = 0; i < count; ++i) {
    Store(out, i, value);
    value = constant ? value : static_cast<U>(value + base);
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
    } else {
      WidenDeltas<U, Stored>(plain, count, base, static_cast<U>(block.first), out);
    }
  });
}

}  // namespace

EncodedBlock BlockEncoder::Encode(const RawValues& values) {
  std::optional<EncodedBlock> best;
  WithUnsigned(values.value_bytes, [&]<typename U>(U) {
    for (const BlockEntry& candidate : Candidates<U>(values)) {
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
  block.bytes.resize(ZSTD_compressBound(plain.size()));
  const std::size_t packed =
      ZSTD_compressCCtx(context_.get(), block.bytes.data(), block.bytes.size(), plain.data(),
                        plain.size(), kZstdLevel);
  ORRERY_CHECK(!ZSTD_isError(packed), "zstd packs into a buffer of its own bound");
  // Reading raw bytes costs nothing, so a saving below an eighth does not pay.
  if (packed < plain.size() - plain.size() / 8) {
    block.entry.packing = Packing::kZstd;
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
  const std::size_t plain_bytes = count * block.width;
  const char* plain = stored.data();
  if (block.packing == Packing::kZstd) {
    plain_.resize(std::max(plain_.size(), plain_bytes));
    ORRERY_TRY_STATUS(Unpack(stored, plain_.data(), plain_bytes));
    plain = plain_.data();
  } else if (stored.size() != plain_bytes) {
    return Damaged(fmt::format("holds {} bytes instead of {}", stored.size(), plain_bytes));
  }
  values_.resize(std::max(values_.size(), count * value_bytes));
  WithUnsigned(value_bytes, [&]<typename U>(U) { Widen<U>(block, plain, count, values_.data()); });
  return values_.data();
}

Status BlockDecoder::DecodeCharacters(const BlockEntry& block, char* out, std::size_t size) {
  ORRERY_TRY(const std::string_view stored, StoredBytes(block));
  if (block.packing == Packing::kZstd) {
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
