#include "orrery/trace/orr/envelope.h"

#include <fmt/core.h>

#include "orrery/base/byte_cursor.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace orrery::trace::orr {
namespace {

constexpr std::string_view kEndMark = "ORR end\n";

// Directory offset, directory bytes, checksum, end mark.
constexpr std::size_t kFooterBytes = 32;

auto Damaged(std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}", what, kDamageFix));
}

// Covers all that is not a block: header, directory, and where the directory is.
std::uint64_t Checksum(std::string_view header, std::string_view directory,
                       std::uint64_t directory_offset) {
  const std::uint64_t seed = XXH64(header.data(), header.size(), directory_offset);
  return XXH64(directory.data(), directory.size(), seed);
}

Status CheckHeader(std::string_view file) {
  if (!IsOrr(file)) {
    return Fail(Error::Kind::kInvalidInput,
                "not an Orrery container: it does not begin with the mark of one");
  }
  ByteReader reader(file.substr(kOrrMagic.size()));
  const auto version = reader.Number<std::uint32_t>();
  if (reader.failed()) {
    return Damaged("the container ends inside its header");
  }
  if (version > kContainerVersion) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("written by a newer Orrery (container version {}, this program reads "
                            "{}): update Orrery",
                            version, kContainerVersion));
  }
  if (version == 0) {
    return Damaged("the header names container version 0, which never was");
  }
  return {};
}

}  // namespace

std::string Header() {
  ByteWriter writer;
  writer.Number(kContainerVersion);
  writer.Number(std::uint32_t{0});
  return std::string(kOrrMagic) + writer.bytes();
}

std::string Closing(std::uint64_t directory_offset, std::string_view directory) {
  ByteWriter writer;
  writer.Number(directory_offset);
  writer.Number(static_cast<std::uint64_t>(directory.size()));
  writer.Number(Checksum(Header(), directory, directory_offset));
  return std::string(directory) + writer.bytes() + std::string(kEndMark);
}

Result<std::string_view> OpenEnvelope(std::string_view file) {
  ORRERY_TRY_STATUS(CheckHeader(file));
  if (file.size() < kHeaderBytes + kFooterBytes || !file.ends_with(kEndMark)) {
    return Damaged("the container ends early, without its directory");
  }
  const std::size_t footer = file.size() - kFooterBytes;
  ByteReader reader(file.substr(footer));
  const auto offset = reader.Number<std::uint64_t>();
  const auto size = reader.Number<std::uint64_t>();
  const auto checksum = reader.Number<std::uint64_t>();
  if (offset < kHeaderBytes || offset > footer || size != footer - offset) {
    return Damaged("the footer points outside the container");
  }
  const std::string_view directory = file.substr(offset, size);
  if (Checksum(file.substr(0, kHeaderBytes), directory, offset) != checksum) {
    return Damaged("the checksum of the directory does not match");
  }
  return directory;
}

}  // namespace orrery::trace::orr
