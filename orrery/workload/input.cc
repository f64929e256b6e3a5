#include "orrery/workload/input.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::workload {

Result<std::string> ReadUnpackedFile(const std::string& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{4} << 30;
  ORRERY_TRY(std::unique_ptr<ByteSource> file, OpenFile(path));
  const std::unique_ptr<ByteSource> unpacked = Unpack(std::move(file));
  Result<std::string> text = ReadAll(*unpacked, kMaxBytes);
  if (!text) {
    return FailWithin(path, text);
  }
  if (!unpacked->damage().empty()) {
    return Fail(Error::Kind::kInvalidInput, path + ": " + unpacked->damage());
  }
  return text;
}

}  // namespace orrery::workload
