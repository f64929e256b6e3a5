#include "orrery/learn/model_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/file/zstd_frame.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/learn/metrics.h"

namespace orrery::learn {
namespace {

constexpr std::array<std::pair<std::string_view, double Evaluation::*>, 10> kFigureNames = {{
    {"mape", &Evaluation::mape},
    {"gmae", &Evaluation::gmae},
    {"median", &Evaluation::median},
    {"p95", &Evaluation::p95},
    {"bias", &Evaluation::bias},
    {"within 5", &Evaluation::within_5},
    {"within 10", &Evaluation::within_10},
    {"within 15", &Evaluation::within_15},
    {"r2 of logs", &Evaluation::r2_of_logs},
    {"error of sum", &Evaluation::error_of_sum},
}};

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string FormatFigures(const DataCard::Figures& figures) {
  const Evaluation& evaluation = figures.evaluation;
  std::string text =
      fmt::format("figures: {}\n  rows: {}\n", OneLine(figures.name), evaluation.rows);
  for (const auto& [name, member] : kFigureNames) {
    text += fmt::format("  {}: {}\n", name, evaluation.*member);
  }
  return text + fmt::format("  histogram: {}\n", fmt::join(evaluation.histogram, " "));
}

// Cuts at the first separator and returns what was before it; without one, everything.
std::string_view TakeUntil(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + separator.size()));
  return taken;
}

template <typename T>
bool Store(std::string_view text, T& target) {
  const auto number = ParseWhole<T>(text);
  target = number.value_or(T{});
  return number.has_value();
}

bool StoreSource(std::string_view text, DataCard& card) {
  const auto bytes = ParseWhole<std::uint64_t>(TakeUntil(text, " "));
  const std::string_view digits = TakeUntil(text, " ");
  std::uint64_t hash = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  card.sources.push_back({.name = std::string(text), .bytes = bytes.value_or(0), .hash = hash});
  return bytes && parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
}

bool StoreHistogram(std::string_view text, Evaluation& evaluation) {
  return std::all_of(evaluation.histogram.begin(), evaluation.histogram.end(),
                     [&](std::size_t& count) { return Store(TakeUntil(text, " "), count); }) &&
         text.empty();
}

bool StoreFigure(std::string_view key, std::string_view value, DataCard& card) {
  if (card.figures.empty()) {
    return false;
  }
  Evaluation& evaluation = card.figures.back().evaluation;
  if (key == "rows") {
    return Store(value, evaluation.rows);
  }
  if (key == "histogram") {
    return StoreHistogram(value, evaluation);
  }
  const auto* const found =
      std::ranges::find(kFigureNames, key, [](const auto& figure) { return figure.first; });
  return found != kFigureNames.end() && Store(value, evaluation.*(found->second));
}

bool StoreText(std::string_view key, std::string_view value, DataCard& card) {
  constexpr std::pair<std::string_view, std::string DataCard::*> kTexts[] = {
      {"title", &DataCard::title}, {"split", &DataCard::split}, {"made by", &DataCard::made_by}};
  for (const auto& [name, member] : kTexts) {
    if (key == name) {
      card.*member = value;
      return true;
    }
  }
  if (key == "note") {
    card.notes.emplace_back(value);
  } else if (key == "figures") {
    card.figures.push_back({.name = std::string(value), .evaluation = {}});
  }
  return key == "note" || key == "figures";
}

bool StoreLine(std::string_view line, DataCard& card) {
  if (line.starts_with("  ")) {
    line.remove_prefix(2);
    const std::string_view figure = TakeUntil(line, ": ");
    return StoreFigure(figure, line, card);
  }
  const std::string_view key = TakeUntil(line, ": ");
  if (key == "rows") {
    return Store(line, card.rows);
  }
  if (key == "seed") {
    return Store(line, card.seed);
  }
  return key == "source" ? StoreSource(line, card) : StoreText(key, line, card);
}

constexpr std::string_view kMagic = "ORRMODEL";
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

tl::unexpected<Error> Damaged() {
  return Invalid("the model file is damaged: copy it again, or train the model again");
}

Status CheckVersion(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Invalid("not a model file, which begins with ORRMODEL: name one that was trained");
  }
  ByteReader reader(bytes.substr(kMagic.size()));
  const auto version = reader.Number<std::uint32_t>();
  if (!reader.failed() && (version == 0 || version > kModelFileVersion)) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("model file of version {}, and this program reads versions 1 to {}: "
                            "use the program that wrote it, or train the model again",
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
    return Invalid("the model file ends early, after {} bytes: copy it again", bytes.size());
  }
  const std::string_view covered = bytes.substr(kChecksumEnd);
  if (XXH64(covered.data(), covered.size(), 0) != checksum ||
      packed_bytes != bytes.size() - kHeaderBytes) {
    return Damaged();
  }
  return Envelope{.unpacked_bytes = unpacked_bytes, .packed = bytes.substr(kHeaderBytes)};
}

}  // namespace

std::string FormatDataCard(const DataCard& card) {
  std::string text = fmt::format("title: {}\nrows: {}\n", OneLine(card.title), card.rows);
  for (const DataCard::Source& source : card.sources) {
    text += fmt::format("source: {} {:016x} {}\n", source.bytes, source.hash, OneLine(source.name));
  }
  text += fmt::format("split: {}\nseed: {}\nmade by: {}\n", OneLine(card.split), card.seed,
                      OneLine(card.made_by));
  for (const DataCard::Figures& figures : card.figures) {
    text += FormatFigures(figures);
  }
  for (const std::string& note : card.notes) {
    text += fmt::format("note: {}\n", OneLine(note));
  }
  return text;
}

Result<DataCard> ParseDataCard(std::string_view text) {
  DataCard card;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = TakeUntil(text, "\n");
    if (!StoreLine(line, card)) {
      return Invalid("data card: line {} is not understood: {}", number, line);
    }
  }
  return card;
}

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
  const std::string packed = ZstdFrame(content);
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
  return model ? std::move(model) : FailWithin(path, model);
}

}  // namespace orrery::learn
