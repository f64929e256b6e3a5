#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zstd.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {

/// Values of 1, 4 or 8 bytes that lie one after the other.
struct RawValues {
  const std::byte* data = nullptr;
  std::size_t value_bytes = 0;
  std::size_t count = 0;
};

struct EncodedBlock {
  BlockEntry entry;  // without its offset
  std::string bytes;
};

/// Packs blocks. Values become distances from the smallest one or from the one before, whichever
/// is smaller in the end, in as few bytes as the largest distance needs; then zstd, where it saves
/// enough. `smallest` also tries distances from the row, sorts the bytes of values into planes and
/// packs as well as zstd can: some fifty times slower to write, as fast to read.
class BlockEncoder {
 public:
  explicit BlockEncoder(bool smallest = false) : smallest_(smallest), context_(ZSTD_createCCtx()) {}

  [[nodiscard]] EncodedBlock Encode(const RawValues& values);

  [[nodiscard]] EncodedBlock EncodeCharacters(std::string_view characters);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  void Pack(EncodedBlock& block, std::string_view plain);

  bool smallest_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::string plain_;
  std::string planes_;
};

/// Unpacks blocks of `file`; keeps its working memory from block to block.
class BlockDecoder {
 public:
  explicit BlockDecoder(std::string_view file) : file_(file), context_(ZSTD_createDCtx()) {}

  /// Returns `count` values of `value_bytes` each, valid until the next call. Trusts nothing: a
  /// block that is not exactly such values is an error.
  [[nodiscard]] Result<const std::byte*> Decode(const BlockEntry& block, std::size_t value_bytes,
                                                std::size_t count);

  /// Puts the characters of a block to `out`; they must be exactly `size`.
  [[nodiscard]] Status DecodeCharacters(const BlockEntry& block, char* out, std::size_t size);

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  [[nodiscard]] Result<std::string_view> StoredBytes(const BlockEntry& block) const;
  [[nodiscard]] Status Unpack(std::string_view stored, char* out, std::size_t size);
  [[nodiscard]] Result<const char*> PlainBytes(const BlockEntry& block, std::string_view stored,
                                               std::size_t count);

  std::string_view file_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::vector<char> plain_;
  std::vector<char> planes_;
  std::vector<std::byte> values_;
};

/// Calls `work(context, index)` for each index below `count`, on `threads` threads (0: one for each
/// core). Indices are handed out in order, so heavy ones belong first. Each thread makes itself a
/// context with `make_context()` when it gets its first index.
template <typename MakeContext, typename Work>
void ForEachIndex(std::size_t count, int threads, MakeContext&& make_context, Work&& work) {
  const auto num_threads = static_cast<std::size_t>(NumThreads(threads));
  std::atomic<std::size_t> next = 0;
  ParallelFor(num_threads, threads, [&](std::size_t) {
    std::optional<decltype(make_context())> context;
    for (std::size_t index = next++; index < count; index = next++) {
      if (!context) {
        context.emplace(make_context());
      }
      work(*context, index);
    }
  });
}

}  // namespace orrery::trace::orr
