#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_card.h"

namespace orrery::learn {

/// The version of model files that this program writes and reads.
inline constexpr std::uint32_t kModelFileVersion = 1;

/// A trained model on disk: a data card, and named sections of bytes in the encoding of the model
/// (see forest_codec.h, perceptron.h).
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

/// Reads the unpacked content alone.
[[nodiscard]] Result<ModelFile> ParseModelContent(std::string_view content);

/// Writes a file; an existing one is replaced when all is written.
[[nodiscard]] Status WriteModelFile(const ModelFile& model, const std::string& path);
[[nodiscard]] Result<ModelFile> ReadModelFile(const std::string& path);

}  // namespace orrery::learn
