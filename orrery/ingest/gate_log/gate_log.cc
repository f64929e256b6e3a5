#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_records.h"
#include "orrery/ingest/json/json_repair.h"
#include "orrery/ingest/json/json_stream.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::gate_log {
namespace {

constexpr std::string_view kLoads = "expert_loads";
constexpr std::array kMarkers{kLoads};

// Walks the log with one step in memory.
class Reader {
 public:
  Reader(ByteSource& source, trace::ProblemLog& problems) : stream_(source), problems_(problems) {}

  [[nodiscard]] std::int64_t offset() const { return stream_.offset(); }

  Table Run() {
    if (const Status walked = Walk(); !walked) {
      problems_.Loss("reading stopped", 1, walked.error().message());
    }
    const bool is_cut = stream_.end() == JsonEnd::kInsideValue;
    if (is_cut || stream_.end() == JsonEnd::kBetweenValues) {
      problems_.Loss("the log ends early; only complete steps were read", 1,
                     fmt::format("byte {}", stream_.offset()));
    }
    LogRepairs(repairs_, {}, problems_);
    return std::move(rows_);
  }

 private:
  Status Walk() {
    ORRERY_TRY_STATUS(stream_.EnterObject());
    while (true) {
      ORRERY_TRY(const auto key, stream_.NextKey());
      if (!key) {
        return {};
      }
      if (*key == kLoads) {
        ORRERY_TRY_STATUS(ReadSteps());
      }
    }
  }

  Status ReadSteps() {
    ORRERY_TRY_STATUS(stream_.EnterArray());
    while (true) {
      ORRERY_TRY(const auto step, stream_.NextElement());
      if (!step) {
        return {};
      }
      AddStep(json_.Parse(RepairJson(*step, repairs_)));
      ++num_steps_;
    }
  }

  void AddStep(const std::optional<JsonElement>& step) {
    const std::string place = fmt::format("step {}", num_steps_);
    if (!step || !step->is_array()) {
      problems_.Loss("step that is not a list", 1, place);
      return;
    }
    const auto add_experts = [&](const JsonElement& experts, const Table::Cell& layer) {
      std::int64_t expert = 0;
      ForEachElement(experts, [&](const JsonElement& tokens) {
        if (const auto count = Number(tokens)) {
          rows_.AddRow({num_steps_, layer, expert, *count});
        } else {
          problems_.Loss("load of an expert that is not a number", 1, place);
        }
        ++expert;
      });
    };
    const auto first = ElementAt(step, 0);
    if (!first || !first->is_array()) {
      return add_experts(*step, {});
    }
    std::int64_t layer = 0;
    ForEachElement(step, [&](const JsonElement& experts) {
      if (experts.is_array()) {
        add_experts(experts, layer);
      } else {
        problems_.Loss("layer that is not a list", 1, place);
      }
      ++layer;
    });
  }

  JsonStream stream_;
  trace::ProblemLog& problems_;
  Table rows_{{"step", Table::Type::kInteger},
              {"layer", Table::Type::kInteger},
              {"expert", Table::Type::kInteger},
              {"tokens", Table::Type::kNumber}};
  JsonText json_;
  JsonRepairs repairs_;
  std::int64_t num_steps_ = 0;
};

// The walk ends with the log; this finds text after it, or a missing end.
Status CheckRest(const InputFile& file, std::int64_t end, trace::ProblemLog& problems) {
  ORRERY_TRY(const auto source, file.OpenContent());
  std::string window(std::size_t{1} << 16, '\0');
  bool has_text = false;
  for (std::int64_t offset = 0;;) {
    ORRERY_TRY(const std::size_t count, source->Read(window));
    if (count == 0) {
      break;
    }
    const std::int64_t skipped =
        std::clamp<std::int64_t>(end - offset, 0, static_cast<std::int64_t>(count));
    const std::string_view rest = std::string_view(window).substr(
        static_cast<std::size_t>(skipped), count - static_cast<std::size_t>(skipped));
    has_text |= rest.find_first_not_of(" \t\r\n") != std::string_view::npos;
    offset += static_cast<std::int64_t>(count);
  }
  problems.Loss("text after the log, not read", has_text ? 1 : 0, fmt::format("byte {}", end));
  if (const std::string damage = source->damage(); !damage.empty()) {
    problems.Loss(damage);
  }
  return {};
}

bool Matches(const InputFile& file) {
  return HeadHasKeys(file.head(), kMarkers);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  MeasurementTable log{.format = "gate log", .file = file.path()};
  Reader reader(*source, log.problems);
  log.rows = reader.Run();
  ORRERY_TRY_STATUS(CheckRest(file, reader.offset(), log.problems));
  return ContentOf(std::move(log), "a gate log without a complete step of expert loads");
}

}  // namespace

// Logs of the gate of a mixture of experts: `expert_loads`, a list of steps, each a list of tokens
// for each expert, or a list of such lists, one for each layer. Gives one table: step, layer
// (missing where the log has none), expert and tokens.
constinit const Format kFormat{.name = "gate log", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::gate_log
