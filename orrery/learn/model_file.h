#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/metrics.h"

namespace orrery::learn {

/// The provenance and accuracy of a model, readable by people and programs.
struct DataCard {
  struct Source {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;  // XXH64 of the file

    bool operator==(const Source&) const = default;
  };

  struct Figures {
    std::string name;  // the evaluated rows and their split
    Evaluation evaluation;

    bool operator==(const Figures&) const = default;
  };

  std::string title = {};
  std::uint64_t rows = 0;  // used for training
  std::vector<Source> sources = {};
  std::string split = {};
  std::uint64_t seed = 0;
  std::string made_by = {};  // program and version
  std::vector<Figures> figures = {};
  std::vector<std::string> notes = {};

  bool operator==(const DataCard&) const = default;
};

/// Writes a card as lines of "key: value". A line break within a value becomes a space.
[[nodiscard]] std::string FormatDataCard(const DataCard& card);

/// Reads what FormatDataCard wrote; an error names the line.
[[nodiscard]] Result<DataCard> ParseDataCard(std::string_view text);

/// The version of model files that this program writes; it reads those before it, too.
inline constexpr std::uint32_t kModelFileVersion = 2;

/// A trained model on disk: a data card, and named sections of bytes in the encoding of the model
/// (see forest.h, perceptron.h).
///
/// On disk: the eight characters ORRMODEL, the version (32 bits), four zeros, XXH64 of all that
/// follows, the unpacked and the packed size (64 bits each), and the content packed with zstd:
/// text of the card, number of sections, name and bytes of each. Numbers are little-endian, texts
/// begin with their length in 32 bits. The same model gives the same bytes.
struct ModelFile {
  struct Section {
    std::string name;
    std::string bytes;

    bool operator==(const Section&) const = default;
  };

  DataCard card = {};
  std::vector<Section> sections = {};

  /// Returns the bytes of a section; fails if there is none of that name.
  [[nodiscard]] Result<std::string_view> Find(std::string_view name) const;

  bool operator==(const ModelFile&) const = default;
};

[[nodiscard]] std::string FormatModelFile(const ModelFile& model);
[[nodiscard]] Result<ModelFile> ParseModelFile(std::string_view bytes);
[[nodiscard]] Result<ModelFile> ParseModelContent(std::string_view content);

/// Writes a file; an existing one is replaced when all is written.
[[nodiscard]] Status WriteModelFile(const ModelFile& model, const std::string& path);
[[nodiscard]] Result<ModelFile> ReadModelFile(const std::string& path);

}  // namespace orrery::learn
