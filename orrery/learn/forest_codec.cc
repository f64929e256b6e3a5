#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {
namespace {

constexpr std::size_t kMaxPlanes = 4;

// Added to the number of features where ranks are sorted by feature, as in model files since
// version 2.
constexpr std::uint32_t kIsSorted = std::uint32_t{1} << 31;

std::size_t PlanesFor(std::span<const std::uint32_t> numbers) {
  const auto largest = std::max_element(numbers.begin(), numbers.end());
  const std::size_t bits =
      largest == numbers.end() ? 0 : static_cast<std::size_t>(std::bit_width(*largest));
  return (bits + 7) / 8;
}

std::uint32_t FoldSign(std::int32_t number) {
  const auto bits = static_cast<std::uint32_t>(number);
  return number < 0 ? ~(bits << 1) : bits << 1;
}

std::int32_t UnfoldSign(std::uint32_t folded) {
  return static_cast<std::int32_t>((folded & 1) != 0 ? ~(folded >> 1) : folded >> 1);
}

// Returns a text of `size` bytes, or zeros when the reader has none such.
std::string TextOfSize(ByteReader& reader, std::size_t size) {
  std::string text = reader.Text();
  if (text.size() != size) {
    reader.SetFailed();
  }
  return reader.failed() ? std::string() : text;
}

// The columns of all nodes; those of inner nodes and of leaves have only their rows.
struct Columns {
  std::vector<std::uint8_t> splits;  // of each node
  std::vector<std::uint32_t> features;
  std::vector<std::uint32_t> ranks;  // of the threshold among those of the feature
  std::vector<std::uint8_t> missing_goes_left;
  std::vector<std::int32_t> leaves;
};

using Thresholds = std::vector<std::vector<float>>;  // of each feature, rising

Thresholds DistinctThresholds(const std::vector<Tree>& trees, std::size_t num_features) {
  Thresholds thresholds(num_features);
  for (const Tree& tree : trees) {
    for (const TreeNode& node : tree) {
      if (!node.IsLeaf()) {
        thresholds[node.feature].push_back(node.threshold);
      }
    }
  }
  for (std::vector<float>& values : thresholds) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return thresholds;
}

void AddNode(const TreeNode& node, const Thresholds& thresholds, double step, Columns& columns) {
  columns.splits.push_back(node.IsLeaf() ? 0 : 1);
  if (node.IsLeaf()) {
    columns.leaves.push_back(static_cast<std::int32_t>(node.value / step));
    return;
  }
  const std::vector<float>& values = thresholds[node.feature];
  const auto rank = std::lower_bound(values.begin(), values.end(), node.threshold);
  columns.features.push_back(node.feature);
  columns.ranks.push_back(static_cast<std::uint32_t>(rank - values.begin()));
  columns.missing_goes_left.push_back(node.missing_goes_left ? 1 : 0);
}

void WriteThresholds(ByteWriter& writer, const Thresholds& thresholds) {
  writer.Number(static_cast<std::uint32_t>(thresholds.size()) | kIsSorted);
  for (const std::vector<float>& values : thresholds) {
    writer.Number(static_cast<std::uint32_t>(values.size()));
    WriteFloats(writer, values);
  }
}

Thresholds ReadThresholds(ByteReader& reader, std::size_t num_features) {
  Thresholds thresholds;
  for (std::size_t feature = 0; feature < num_features && !reader.failed(); ++feature) {
    thresholds.push_back(ReadFloats(reader, reader.Count(sizeof(float))));
  }
  return thresholds;
}

// Returns for each feature the place of its first split when splits are sorted by feature.
std::vector<std::size_t> FirstPlaces(std::span<const std::uint32_t> features,
                                     std::size_t num_features) {
  std::vector<std::size_t> first(num_features);
  for (const std::uint32_t feature : features) {
    ++first[feature];
  }
  std::exclusive_scan(first.begin(), first.end(), first.begin(), std::size_t{0});
  return first;
}

void WriteRanks(ByteWriter& writer, const Columns& columns, std::size_t num_features) {
  std::vector<std::size_t> next = FirstPlaces(columns.features, num_features);
  std::vector<std::uint32_t> sorted(columns.ranks.size());
  for (std::size_t split = 0; split < sorted.size(); ++split) {
    sorted[next[columns.features[split]]++] = columns.ranks[split];
  }
  WritePlanes(writer, sorted);
}

std::vector<std::uint32_t> ReadRanks(ByteReader& reader, std::span<const std::uint32_t> features,
                                     std::size_t num_features) {
  const std::vector<std::uint32_t> sorted = ReadPlanes(reader, features.size());
  if (std::ranges::any_of(features,
                          [&](std::uint32_t feature) { return feature >= num_features; })) {
    reader.SetFailed();
  }
  if (reader.failed()) {
    return {};
  }
  std::vector<std::size_t> next = FirstPlaces(features, num_features);
  std::vector<std::uint32_t> ranks(features.size());
  std::transform(features.begin(), features.end(), ranks.begin(),
                 [&](std::uint32_t feature) { return sorted[next[feature]++]; });
  return ranks;
}

Columns ReadColumns(ByteReader& reader, std::size_t num_features, bool is_sorted) {
  const std::size_t num_nodes = reader.Number<std::uint32_t>();
  Columns columns;
  columns.splits = ReadFlags(reader, num_nodes);
  const auto num_inner = static_cast<std::size_t>(
      std::count(columns.splits.begin(), columns.splits.end(), std::uint8_t{1}));
  columns.features = ReadPlanes(reader, num_inner);
  columns.ranks =
      is_sorted ? ReadRanks(reader, columns.features, num_features) : ReadPlanes(reader, num_inner);
  columns.missing_goes_left = ReadFlags(reader, num_inner);
  columns.leaves = ReadSignedPlanes(reader, columns.splits.size() - num_inner);
  return columns;
}

// Takes nodes from the columns, one after the other.
class NodeReader {
 public:
  NodeReader(const Columns& columns, const Thresholds& thresholds, double step)
      : columns_(columns), thresholds_(thresholds), step_(step) {}

  // Fails on a node that is not there or names a threshold that is not.
  bool Next(TreeNode& node, std::uint32_t first_child) {
    if (node_ == columns_.splits.size()) {
      return false;
    }
    if (columns_.splits[node_++] == 0) {
      node.value = columns_.leaves[leaf_++] * step_;
      return true;
    }
    const std::uint32_t feature = columns_.features[inner_];
    const std::uint32_t rank = columns_.ranks[inner_];
    if (feature >= thresholds_.size() || rank >= thresholds_[feature].size()) {
      return false;
    }
    node = {.left = first_child,
            .right = first_child + 1,
            .feature = feature,
            .threshold = thresholds_[feature][rank],
            .missing_goes_left = columns_.missing_goes_left[inner_++] != 0};
    return true;
  }

  bool AtEnd() const { return node_ == columns_.splits.size(); }

 private:
  const Columns& columns_;
  const Thresholds& thresholds_;
  double step_;
  std::size_t node_ = 0;
  std::size_t inner_ = 0;
  std::size_t leaf_ = 0;
};

tl::unexpected<Error> Damaged() {
  return Invalid("the forest in the model file is damaged");
}

// A tree ends when no child is awaited any more.
Result<Tree> ReadTree(NodeReader& nodes) {
  Tree tree(1);
  for (std::size_t next = 0; next < tree.size(); ++next) {
    const auto first_child = static_cast<std::uint32_t>(tree.size());
    if (!nodes.Next(tree[next], first_child)) {
      return Damaged();
    }
    if (!tree[next].IsLeaf()) {
      tree.resize(tree.size() + 2);
    }
  }
  return tree;
}

}  // namespace

void WritePlanes(ByteWriter& writer, std::span<const std::uint32_t> numbers) {
  const std::size_t num_planes = PlanesFor(numbers);
  std::string planes;
  planes.reserve(num_planes * numbers.size());
  for (std::size_t plane = 0; plane < num_planes; ++plane) {
    for (const std::uint32_t number : numbers) {
      planes.push_back(static_cast<char>(number >> (8 * plane)));
    }
  }
  writer.Number(static_cast<std::uint8_t>(num_planes));
  writer.Text(planes);
}

std::vector<std::uint32_t> ReadPlanes(ByteReader& reader, std::size_t count) {
  const std::size_t num_planes = reader.Number<std::uint8_t>();
  if (num_planes > kMaxPlanes) {
    reader.SetFailed();
  }
  const std::string planes = TextOfSize(reader, num_planes * count);
  if (reader.failed()) {
    return {};
  }
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t index = 0; index < planes.size(); ++index) {
    const std::uint32_t byte = static_cast<unsigned char>(planes[index]);
    numbers[index % count] |= byte << (8 * (index / count));
  }
  return numbers;
}

void WriteSignedPlanes(ByteWriter& writer, std::span<const std::int32_t> numbers) {
  std::vector<std::uint32_t> folded(numbers.size());
  std::transform(numbers.begin(), numbers.end(), folded.begin(), FoldSign);
  WritePlanes(writer, folded);
}

std::vector<std::int32_t> ReadSignedPlanes(ByteReader& reader, std::size_t count) {
  const std::vector<std::uint32_t> folded = ReadPlanes(reader, count);
  std::vector<std::int32_t> numbers(folded.size());
  std::transform(folded.begin(), folded.end(), numbers.begin(), UnfoldSign);
  return numbers;
}

void WriteFlags(ByteWriter& writer, std::span<const std::uint8_t> flags) {
  std::string bytes((flags.size() + 7) / 8, '\0');
  for (std::size_t index = 0; index < flags.size(); ++index) {
    const int bit = flags[index] != 0 ? 1 << (index % 8) : 0;
    bytes[index / 8] = static_cast<char>(bytes[index / 8] | bit);
  }
  writer.Text(bytes);
}

std::vector<std::uint8_t> ReadFlags(ByteReader& reader, std::size_t count) {
  const std::string bytes = TextOfSize(reader, (count + 7) / 8);
  if (reader.failed()) {
    return {};
  }
  std::vector<std::uint8_t> flags(count);
  for (std::size_t index = 0; index < count; ++index) {
    flags[index] = static_cast<std::uint8_t>((bytes[index / 8] >> (index % 8)) & 1);
  }
  return flags;
}

void WriteFloats(ByteWriter& writer, std::span<const float> values) {
  for (const float value : values) {
    writer.Number(std::bit_cast<std::uint32_t>(value));
  }
}

std::vector<float> ReadFloats(ByteReader& reader, std::size_t count) {
  std::vector<float> values;
  for (std::size_t index = 0; index < count && !reader.failed(); ++index) {
    values.push_back(std::bit_cast<float>(reader.Number<std::uint32_t>()));
  }
  return reader.failed() ? std::vector<float>() : values;
}

void WriteDouble(ByteWriter& writer, double value) {
  writer.Number(std::bit_cast<std::uint64_t>(value));
}

double ReadDouble(ByteReader& reader) {
  return std::bit_cast<double>(reader.Number<std::uint64_t>());
}

Forest RoundedForShipping(const Forest& forest) {
  return forest.Rounded(forest.StepForError(kShippedLeafError));
}

std::string EncodeForest(const Forest& forest) {
  const std::vector<Tree> trees = forest.Trees();
  const Thresholds thresholds = DistinctThresholds(trees, forest.num_features());
  const double step = forest.LeafStep();
  Columns columns;
  for (const Tree& tree : trees) {
    for (const TreeNode& node : tree) {
      AddNode(node, thresholds, step, columns);
    }
  }
  ByteWriter writer;
  WriteDouble(writer, forest.base());
  WriteDouble(writer, step);
  WriteThresholds(writer, thresholds);
  writer.Number(static_cast<std::uint32_t>(columns.splits.size()));
  WriteFlags(writer, columns.splits);
  WritePlanes(writer, columns.features);
  WriteRanks(writer, columns, thresholds.size());
  WriteFlags(writer, columns.missing_goes_left);
  WriteSignedPlanes(writer, columns.leaves);
  return writer.bytes();
}

Result<Forest> DecodeForest(std::string_view bytes) {
  ByteReader reader(bytes);
  const double base = ReadDouble(reader);
  const double step = ReadDouble(reader);
  const auto num_features = reader.Number<std::uint32_t>();
  const Thresholds thresholds = ReadThresholds(reader, num_features & ~kIsSorted);
  const Columns columns = ReadColumns(reader, thresholds.size(), (num_features & kIsSorted) != 0);
  if (reader.failed() || reader.skipped_bytes() > 0 || !std::isfinite(step)) {
    return Damaged();
  }
  NodeReader nodes(columns, thresholds, step);
  std::vector<Tree> trees;
  while (!nodes.AtEnd()) {
    ORRERY_TRY(Tree tree, ReadTree(nodes));
    trees.push_back(std::move(tree));
  }
  return Forest::FromTrees(base, thresholds.size(), trees);
}

}  // namespace orrery::learn
