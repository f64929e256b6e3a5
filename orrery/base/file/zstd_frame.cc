#include "orrery/base/file/zstd_frame.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <zstd.h>

#include "orrery/base/check.h"

namespace orrery {

std::string ZstdFrame(std::string_view bytes, int level) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  ORRERY_CHECK(ZSTD_isError(size) == 0, "zstd packs into a buffer of its own bound");
  frame.resize(size);
  return frame;
}

}  // namespace orrery
