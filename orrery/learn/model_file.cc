#include "orrery/learn/model_file.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include "orrery/base/byte_cursor.h"
#include "orrery/base/byte_sink.h"
#include "orrery/base/byte_source.h"
#include "orrery/base/check.h"
#include "orrery/base/mapped_file.h"

namespace orrery::learn {
namespace {

constexpr std::string_view kMagic = "ORRMODEL";
// Written once and read often.
constexpr int kZstdLevel = 19;
// Magic, version and zeros; then the checksum and what it covers.
constexpr std::size_t kVersionEnd = kMagic.size() + 8;
constexpr std::size_t kChecksumEnd = kVersionEnd + 8;
constexpr std::size_t kHeaderBytes = kChecksumEnd + 16;

std::string FormatContent(const ModelFile& model) {
  ByteWriter writer;
  writer.Text(FormatDataCard(model.card));
  writer.Number(static_cast<std::uint32_t>(model.sections.size()));
  for (const ModelFile::Section& section : model.sections) {
    writer.Text(section.name);
    writer.Text(section.bytes);
  }
  return writer.bytes();
}

std::string PackTightly(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kZstdLevel);
  ORRERY_CHECK(ZSTD_isError(size) == 0, "packing in memory cannot fail");
  packed.resize(size);
  return packed;
}

tl::unexpected<Error> Damaged() {
  return Fail(Error::Kind::kInvalidInput,
              "the model file is damaged: copy it again, or train the model again");
}

Status CheckVersion(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Fail(Error::Kind::kInvalidInput,
                "not a model file, which begins with ORRMODEL: name one that was trained");
  }
  ByteReader reader(bytes.substr(kMagic.size()));
  const auto version = reader.Number<std::uint32_t>();
  if (!reader.failed() && version != kModelFileVersion) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("model file of version {}, and this program reads version {}: use the "
                            "program that wrote it, or train the model again",
                            version, kModelFileVersion));
  }
  return {};
}

struct Envelope {
  std::size_t unpacked_bytes = 0;
  std::string_view packed;
};

Result<Envelope> OpenEnvelope(std::string_view bytes) {
  ORRERY_TRY_STATUS(CheckVersion(bytes));
  ByteReader reader(bytes.substr(std::min(bytes.size(), kVersionEnd)));
  const auto checksum = reader.Number<std::uint64_t>();
  const auto unpacked_bytes = reader.Number<std::uint64_t>();
  const auto packed_bytes = reader.Number<std::uint64_t>();
  if (reader.failed() || packed_bytes > bytes.size() - kHeaderBytes) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("the model file ends early, after {} bytes: copy it again", bytes.size()));
  }
  const std::string_view covered = bytes.substr(kChecksumEnd);
  if (XXH64(covered.data(), covered.size(), 0) != checksum ||
      packed_bytes != bytes.size() - kHeaderBytes) {
    return Damaged();
  }
  return Envelope{.unpacked_bytes = unpacked_bytes, .packed = bytes.substr(kHeaderBytes)};
}

}  // namespace

Result<std::string_view> ModelFile::Find(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& section) { return section.name == name; });
  if (found == sections.end()) {
    return Fail(Error::Kind::kNotFound, fmt::format("no such section in the model file: {}", name));
  }
  return found->bytes;
}

std::string FormatModelFile(const ModelFile& model) {
  const std::string content = FormatContent(model);
  const std::string packed = PackTightly(content);
  ByteWriter sizes;
  sizes.Number(std::uint64_t{content.size()});
  sizes.Number(std::uint64_t{packed.size()});
  const std::string covered = sizes.bytes() + packed;
  ByteWriter head;
  head.Number(kModelFileVersion);
  head.Number(std::uint32_t{0});
  head.Number(std::uint64_t{XXH64(covered.data(), covered.size(), 0)});
  return std::string(kMagic) + head.bytes() + covered;
}

Result<ModelFile> ParseModelContent(std::string_view content) {
  ByteReader reader(content);
  const std::string card = reader.Text();
  ModelFile model;
  model.sections.resize(reader.Count(2 * sizeof(std::uint32_t)));
  for (ModelFile::Section& section : model.sections) {
    section.name = reader.Text();
    section.bytes = reader.Text();
  }
  if (reader.failed() || reader.skipped_bytes() > 0) {
    return Damaged();
  }
  ORRERY_TRY(model.card, ParseDataCard(card));
  return model;
}

Result<ModelFile> ParseModelFile(std::string_view bytes) {
  ORRERY_TRY(const Envelope envelope, OpenEnvelope(bytes));
  const std::unique_ptr<ByteSource> source = Unpack(OpenMemory(envelope.packed));
  ORRERY_TRY(const std::string content, ReadAll(*source));
  if (!source->damage().empty() || content.size() != envelope.unpacked_bytes) {
    return Damaged();
  }
  return ParseModelContent(content);
}

Status WriteModelFile(const ModelFile& model, const std::string& path) {
  ORRERY_TRY(const std::unique_ptr<ByteSink> file, CreateFile(path));
  ORRERY_TRY_STATUS(file->Write(FormatModelFile(model)));
  return file->Close();
}

Result<ModelFile> ReadModelFile(const std::string& path) {
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  auto model = ParseModelFile(file.bytes());
  if (!model) {
    return FailWithin(path, model);
  }
  return model;
}

}  // namespace orrery::learn
