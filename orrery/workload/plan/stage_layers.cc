#include "orrery/workload/plan/stage_layers.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

/// `count` in equal numbers, what is left over to the first ones.
std::vector<int> Spread(int count, int parts) {
  std::vector<int> numbers(static_cast<std::size_t>(parts), count / parts);
  std::for_each_n(numbers.begin(), count % parts, [](int& number) { ++number; });
  return numbers;
}

std::vector<int> SpreadWork(int blocks, int parts, double head_work) {
  std::vector<int> numbers(static_cast<std::size_t>(parts));
  const double share = (blocks + head_work) / parts;
  int part = 0;
  for (int block = 0; block < blocks; ++block) {
    ++numbers[static_cast<std::size_t>(part)];
    if (block + 1 > share * (part + 1) && part + 1 < parts) {
      ++part;
    }
  }
  return numbers;
}

/// The numbers of stages as those of parts: the chunks of a stage share its layers.
std::vector<int> PartsOfStages(const PipelineShape& shape, const std::vector<int>& of_stage) {
  const int parts = NumParts(shape);
  const int chunks = parts / shape.stages;
  std::vector<int> numbers(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    const ChunkPlace place = PlaceOf(shape, part);
    const int layers = of_stage[static_cast<std::size_t>(place.stage)];
    numbers[static_cast<std::size_t>(part)] =
        Spread(layers, chunks)[static_cast<std::size_t>(place.chunk)];
  }
  return numbers;
}

Result<std::vector<int>> GivenNumbers(const LayerCut& cut) {
  const std::vector<int>& given = cut.layers_per_stage;
  const auto parts = static_cast<std::size_t>(NumParts(cut.shape));
  const auto stages = static_cast<std::size_t>(cut.shape.stages);
  if (given.size() != stages && given.size() != parts) {
    return Refuse(
        "plan.layers_per_stage has {} numbers for {} stages: give one for each of plan.pp",
        given.size(), stages);
  }
  if (std::ranges::any_of(given, [](int layers) { return layers < 0; })) {
    return Refuse("plan.layers_per_stage has a number below 0: give 0 or more for each stage");
  }
  const int sum = std::accumulate(given.begin(), given.end(), 0);
  if (sum != cut.blocks) {
    return Refuse(
        "plan.layers_per_stage adds up to {} layers and the model has {}: change one number", sum,
        cut.blocks);
  }
  return given.size() == parts ? given : PartsOfStages(cut.shape, given);
}

Result<std::vector<int>> NumbersOf(const LayerCut& cut) {
  if (!cut.layers_per_stage.empty()) {
    return GivenNumbers(cut);
  }
  const int parts = NumParts(cut.shape);
  if (cut.head_work) {
    return SpreadWork(cut.blocks, parts, *cut.head_work);
  }
  if (parts > cut.blocks + 2) {
    return Refuse(
        "plan.pp {} with plan.chunks {} makes {} parts of {} layers: lower one of the two",
        cut.shape.stages, cut.shape.chunks, parts, cut.blocks);
  }
  const bool is_told = cut.counts_embedding || cut.counts_loss;
  const bool is_uneven = !is_told && cut.blocks % parts != 0;
  const int first = cut.counts_embedding || is_uneven ? 1 : 0;
  const int last = cut.counts_loss || is_uneven ? 1 : 0;
  std::vector<int> numbers = Spread(cut.blocks + first + last, parts);
  numbers.front() -= first;
  numbers.back() -= last;
  if (std::ranges::any_of(numbers, [](int number) { return number < 0; })) {
    return Refuse("{} layers are too few for {} parts whose ends count as a layer: lower plan.pp",
                  cut.blocks, parts);
  }
  return numbers;
}

/// Unfolds repetitions: `t*4` and `(t*4|)*14`. Nothing where the text is none, or too long.
class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  std::optional<std::string> Read() {
    std::string letters = ReadGroup();
    return at_ == text_.size() && !is_wrong_ ? std::optional(std::move(letters)) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMostLetters = 100'000;

  // Up to the end, or to a ')' that belongs to a group around it.
  std::string ReadGroup() {
    std::string letters;
    while (at_ < text_.size() && text_[at_] != ')' && !is_wrong_) {
      const char letter = text_[at_++];
      if (letter == ' ' || letter == ',') {
        continue;
      }
      std::string item(1, letter);
      if (letter == '(') {
        is_wrong_ = is_wrong_ || ++depth_ > 8;
        item = ReadGroup();
        is_wrong_ = is_wrong_ || at_ == text_.size();
        ++at_;
        --depth_;
      } else if (std::string_view("EtmL|").find(letter) == std::string_view::npos) {
        is_wrong_ = true;
      }
      for (int times = ReadTimes(); times > 0 && !is_wrong_; --times) {
        letters += item;
        is_wrong_ = letters.size() > kMostLetters;
      }
    }
    return letters;
  }

  // The number behind '*', or 1.
  int ReadTimes() {
    if (at_ >= text_.size() || text_[at_] != '*') {
      return 1;
    }
    int times = 0;
    const char* const begin = text_.data() + at_ + 1;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), times);
    is_wrong_ = is_wrong_ || error != std::errc() || times < 1;
    at_ = static_cast<std::size_t>(end - text_.data());
    return times;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool is_wrong_ = false;
};

/// As nanotron counts: four square projections and three matrices of the network in a block.
double HeadWork(const Transformer& model) {
  const Block& block = model.blocks.front().block;
  const FeedForward* const mlp = block.feed_forward();
  const std::int64_t width =
      mlp != nullptr ? mlp->width : block.experts()->per_token * block.experts()->expert.width;
  const std::int64_t per_hidden = 4 * block.self.heads * block.self.head_size + 3 * width;
  return static_cast<double>(model.vocabulary) / static_cast<double>(per_hidden);
}

}  // namespace

LayerCut LayerCutOf(const Transformer& model, const Plan& plan, const Framework& framework,
                    const PipelineShape& shape) {
  LayerCut cut{.shape = shape,
               .blocks = static_cast<int>(model.num_blocks()),
               .layers_per_stage = plan.layers_per_stage,
               .counts_embedding = plan.counts_embedding,
               .counts_loss = plan.counts_loss};
  if (framework.splits_layers_by_work && !model.blocks.empty()) {
    cut.head_work = HeadWork(model);
  }
  return cut;
}

std::optional<std::vector<int>> LayersOfLayout(std::string_view text) {
  const std::optional<std::string> letters = LayoutReader(text).Read();
  const bool has_ends =
      letters && std::ranges::count(*letters, 'E') == 1 && std::ranges::count(*letters, 'L') == 1;
  if (!has_ends) {
    return std::nullopt;
  }
  std::vector<int> layers = {0};
  for (const char letter : *letters) {
    if (letter == '|') {
      layers.push_back(0);
    }
    layers.back() += letter == 't' ? 1 : 0;
  }
  return layers;
}

Result<std::vector<PartLayers>> CutLayers(const LayerCut& cut) {
  ORRERY_TRY(const std::vector<int> numbers, NumbersOf(cut));
  std::vector<PartLayers> parts;
  int first_block = 0;
  for (const int number : numbers) {
    parts.push_back({.first_block = first_block, .num_blocks = number});
    first_block += number;
  }
  parts.front().has_embedding = true;
  parts.back().has_head = true;
  return parts;
}

}  // namespace orrery::workload
