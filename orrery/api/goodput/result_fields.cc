#include <array>

#include "orrery/api/fields.h"
#include "orrery/api/goodput.h"

// Fields of results, in the order of their JSON.

namespace orrery::api {
namespace {

using Alternative = GoodputAlternative;
using Checkpoint = GoodputCheckpoint;

constexpr auto kCheckpoint = std::to_array<Field<Checkpoint>>({
    MakeField<&Checkpoint::bytes>("bytes", "bytes", "size of a checkpoint"),
    MakeField<&Checkpoint::slowdown_s>(
        "slowdown_s", "s", "part of the stall that steps lose while a checkpoint is written")
        .IfKnown(),
    MakeField<&Checkpoint::stall_s>("stall_s", "s", "time in which training stands still for one"),
    MakeField<&Checkpoint::write_s>("write_s", "s",
                                    "time beside training until a checkpoint is durable"),
    MakeField<&Checkpoint::load_s>("load_s", "s", "time to load one"),
    MakeField<&Checkpoint::best_interval_s>("best_interval_s", "s",
                                            "interval that is best by the formula"),
    MakeField<&Checkpoint::young_s>("young_s", "s", "best interval by Young"),
    MakeField<&Checkpoint::daly_s>("daly_s", "s", "best interval by Daly"),
});

constexpr auto kAlternative = std::to_array<Field<Alternative>>({
    MakeField<&Alternative::checkpoint_interval_s>(
        "checkpoint_interval_s", "s", "work from one checkpoint to the next; null without"),
    MakeField<&Alternative::spares>("spares", "", "spare nodes"),
    MakeField<&Alternative::ettr_mean>("ettr_mean", "", "effective training time ratio, mean"),
    MakeField<&Alternative::ettr_p10>("ettr_p10", "",
                                      "effective training time ratio, 10 % quantile"),
    MakeField<&Alternative::ettr_p90>("ettr_p90", "",
                                      "effective training time ratio, 90 % quantile"),
    MakeField<&Alternative::ettr_expected>("ettr_expected", "",
                                           "effective training time ratio by the formula"),
    MakeField<&Alternative::paid_share>("paid_share", "",
                                        "productive share of the GPU time that is paid for"),
    MakeField<&Alternative::yield_per_dollar>("yield_per_dollar", "1/$",
                                              "tokens, or samples of models without, for a dollar"),
    MakeField<&Alternative::lost>("lost", "s", "lost time by cause"),
});

constexpr auto kResult = std::to_array<Field<GoodputResult>>({
    MakeField<&GoodputResult::ettr_mean>(
        "ettr_mean", "", "effective training time ratio: productive time over the window, mean"),
    MakeField<&GoodputResult::ettr_p10>("ettr_p10", "",
                                        "effective training time ratio, 10 % quantile"),
    MakeField<&GoodputResult::ettr_p50>("ettr_p50", "", "effective training time ratio, median"),
    MakeField<&GoodputResult::ettr_p90>("ettr_p90", "",
                                        "effective training time ratio, 90 % quantile"),
    MakeField<&GoodputResult::ettr_expected>(
        "ettr_expected", "",
        "effective training time ratio by the formula; null without checkpoints"),
    MakeField<&GoodputResult::window_s>("window_s", "s", "length of the window"),
    MakeField<&GoodputResult::productive_s>("productive_s", "s", "time of the steps that count"),
    MakeField<&GoodputResult::lost>(
        "lost", "s", "lost time by cause, which adds up to the window with productive_s"),
    MakeField<&GoodputResult::steps>("steps", "", "steps that count: repeated ones count once"),
    MakeField<&GoodputResult::step_time_s>("step_time_s", "s", "one step"),
    MakeField<&GoodputResult::step_is_simulated>("step_is_simulated", "",
                                                 "the step is simulated, not given"),
    MakeField<&GoodputResult::step_low_s>("step_low_s", "s",
                                          "lower end of the 80 % interval of a simulated step"),
    MakeField<&GoodputResult::step_high_s>("step_high_s", "s",
                                           "upper end of the 80 % interval of a simulated step"),
    MakeField<&GoodputResult::tokens>("tokens", "", "tokens of a window; null for models without"),
    MakeField<&GoodputResult::samples>("samples", "", "samples of a window"),
    MakeField<&GoodputResult::samples_low>("samples_low", "",
                                           "lower end of the 80 % interval of samples"),
    MakeField<&GoodputResult::samples_high>("samples_high", "",
                                            "upper end of the 80 % interval of samples"),
    MakeField<&GoodputResult::dollars>("dollars", "$",
                                       "cost of a window, spares included; null without a price"),
    MakeField<&GoodputResult::failures>("failures", "",
                                        "failures that interrupted the job or took a node away"),
    MakeField<&GoodputResult::failures_by_part>("failures_by_part", "",
                                                "failures by the part that failed"),
    MakeField<&GoodputResult::rates>("rates", "", "origin of the failure rates"),
    MakeField<&GoodputResult::mtbf_s>(
        "mtbf_s", "s", "mean time between failures of the job; null without failures"),
    MakeField<&GoodputResult::checkpoint_interval_s>(
        "checkpoint_interval_s", "s",
        "work from one checkpoint to the next, whole steps; null without"),
    MakeField<&GoodputResult::checkpoint>("checkpoint", "", "size, times and best intervals"),
    MakeField<&GoodputResult::checkpoints>("checkpoints", "", "number of checkpoints"),
    MakeField<&GoodputResult::planned_stops>("planned_stops", "",
                                             "stops that take slow nodes out and replicas in"),
    MakeField<&GoodputResult::gpus>("gpus", "", "GPUs of the job"),
    MakeField<&GoodputResult::nodes>("nodes", "", "nodes of the job"),
    MakeField<&GoodputResult::replicas>("replicas", "", "parts by which the job can shrink"),
    MakeField<&GoodputResult::spares>("spares", "", "spare nodes"),
    MakeField<&GoodputResult::intervals>("intervals", "", "the same windows with other intervals"),
    MakeField<&GoodputResult::spares_tried>("spares_tried", "",
                                            "the same windows with other spares"),
    MakeField<&GoodputResult::runs>("runs", "", "number of windows"),
    MakeField<&GoodputResult::seed>("seed", "", "seed of what happens by chance, as text"),
    MakeField<&GoodputResult::out_of_memory>("out_of_memory", "",
                                             "the job does not fit into the memory of its GPUs"),
    MakeField<&GoodputResult::assumed>("assumed", "",
                                       "options that were not given and their values"),
    MakeField<&GoodputResult::left_out>(
        "left_out", "", "parts of the job as written that the simulation leaves out"),
    MakeField<&GoodputResult::not_modelled>(
        "not_modelled", "", "effects that are not modelled or uncertain for this job"),
    MakeField<&GoodputResult::job>("job", "", "the job in one line"),
});

}  // namespace

ORRERY_SET_FIELDS(GoodputCheckpoint, kCheckpoint)
ORRERY_SET_FIELDS(GoodputAlternative, kAlternative)
ORRERY_SET_FIELDS(GoodputResult, kResult)

}  // namespace orrery::api
