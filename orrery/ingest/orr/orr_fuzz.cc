#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <xxhash.h>

#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"

// Reads the bytes as a container, then once more with all checksums corrected: changes of the
// fuzzer would seldom get past them.

namespace {

using namespace orrery::trace;  // NOLINT: this file has no other names

// Small limits: a claim of the input must not become memory.
constexpr OrrReadOptions kOptions{.threads = 1,
                                  .limits = {.max_ratio = 64, .free_bytes = 16 << 20}};

constexpr std::size_t kFooterBytes = 32;

void CorrectBlocks(orr::Directory& directory, std::string_view file) {
  for (orr::RankEntry& rank : directory.ranks) {
    orr::ForEachBlockList(rank, [&](orr::BlockList& blocks) {
      for (orr::BlockEntry& block : blocks) {
        const std::string_view stored =
            file.substr(std::min<std::uint64_t>(block.offset, file.size()), block.stored_bytes);
        block.checksum = XXH64(stored.data(), stored.size(), 0);
      }
    });
  }
}

void ReadCorrected(std::string_view file) {
  if (file.size() < orr::kHeaderBytes + kFooterBytes) {
    return;
  }
  const std::size_t footer = file.size() - kFooterBytes;
  std::uint64_t claimed = 0;
  std::memcpy(&claimed, file.data() + footer, sizeof(claimed));
  const std::size_t offset = std::clamp<std::uint64_t>(claimed, orr::kHeaderBytes, footer);
  auto directory = orr::DecodeDirectory(file.substr(offset, footer - offset));
  if (!directory) {
    return;
  }
  CorrectBlocks(*directory, file.substr(0, offset));
  const std::string blocks(file.substr(orr::kHeaderBytes, offset - orr::kHeaderBytes));
  const std::string corrected =
      orr::Header() + blocks + orr::Closing(offset, orr::EncodeDirectory(*directory));
  (void)ReadOrrBytes(corrected, kOptions);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)ReadOrrBytes(bytes, kOptions);
  ReadCorrected(bytes);
  return 0;
}
