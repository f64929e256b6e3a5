#include "orrery/api/view/questions.h"

#include <array>
#include <concepts>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/api/fields.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::api::view {
namespace {

template <auto kAnswer, typename Request, typename Reply>
constexpr Question MakeQuestionOf(std::string_view name,
                                  Result<Reply> (* /*answer*/)(const View&, const Request&)) {
  Question question{.name = name, .request_schema = &RequestSchema<Request>};
  if constexpr (!std::same_as<Reply, Columns>) {
    question.reply_schema = &internal::Schema<Reply>;
  }
  question.ask = [](const View& view, const Value& data) -> Result<AnyReply> {
    ORRERY_TRY(const Request request, FromValue<Request>(data));
    ORRERY_TRY(Reply reply, kAnswer(view, request));
    if constexpr (std::same_as<Reply, Columns>) {
      return AnyReply{.is_binary = true, .bytes = std::move(reply.bytes)};
    } else {
      return AnyReply{.data = ToValue(reply)};
    }
  };
  return question;
}

template <auto kAnswer>
constexpr Question Reads(std::string_view name) {
  return MakeQuestionOf<kAnswer>(name, kAnswer);
}

template <auto kAnswer>
constexpr Question MakesRun(std::string_view name) {
  Question question = MakeQuestionOf<kAnswer>(name, kAnswer);
  question.makes_run = true;
  return question;
}

constexpr auto kQuestions = std::to_array<Question>({
    Reads<&DescribeSession>("session"),
    Reads<&ListRanks>("ranks"),
    Reads<&MakeActivityTile>("activity"),
    Reads<&ListTracks>("tracks"),
    Reads<&MakeSliceTile>("slices"),
    Reads<&DescribeSlice>("slice"),
    Reads<&ListLaunches>("launches"),
    Reads<&ListCollectives>("collectives"),
    Reads<&FindCriticalPath>("critical"),
    Reads<&SumRange>("range"),
    Reads<&FindSlices>("find"),
    Reads<&MakeTab>("tab"),
    Reads<&CompareRuns>("differences"),
    MakesRun<&PredictRun>("predict"),
    MakesRun<&OpenPlan>("plan"),
    MakesRun<&AnswerWhatIf>("what-if"),
});

}  // namespace

std::span<const Question> Questions() {
  return kQuestions;
}

}  // namespace orrery::api::view
