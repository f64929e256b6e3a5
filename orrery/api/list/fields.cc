#include "orrery/api/fields.h"

#include <array>
#include <span>
#include <string_view>

#include "orrery/api/list.h"

namespace orrery::api {
namespace {

constexpr auto kThings =
    std::to_array<std::string_view>({"gpus", "clusters", "hosts", "models", "frameworks", "metrics",
                                     "formats", "job-keys", "job-schema"});

constexpr auto kRequest = std::to_array<Field<ListRequest>>({
    MakeField<&ListRequest::what>("what", "", "the list to print").Choices(kThings),
});

constexpr auto kGpu = std::to_array<Field<ListedGpu>>({
    MakeField<&ListedGpu::name>("name", "", "name"),
    MakeField<&ListedGpu::memory_bytes>("memory_bytes", "bytes", "memory"),
    MakeField<&ListedGpu::memory_bytes_per_s>("memory_bytes_per_s", "bytes/s", "its bandwidth"),
    MakeField<&ListedGpu::bf16_flops>("bf16_flops", "FLOP/s", "dense peak in bf16"),
    MakeField<&ListedGpu::link_bytes_per_s>("link_bytes_per_s", "bytes/s",
                                            "all links, in one direction"),
    MakeField<&ListedGpu::power_w>("power_w", "W", "board power"),
    MakeField<&ListedGpu::measured_kinds>("measured_kinds", "",
                                          "kinds of operators that were timed on it"),
    MakeField<&ListedGpu::measured_rows>("measured_rows", "", "number of timed operators"),
});

constexpr auto kCluster = std::to_array<Field<ListedCluster>>({
    MakeField<&ListedCluster::name>("name", "", "name"),
    MakeField<&ListedCluster::gpu>("gpu", "", "GPU"),
    MakeField<&ListedCluster::gpus_per_node>("gpus_per_node", "", "GPUs of a node"),
    MakeField<&ListedCluster::island>("island", "", "links inside a node"),
    MakeField<&ListedCluster::island_bytes_per_s>("island_bytes_per_s", "bytes/s",
                                                  "their bandwidth per GPU, in one direction"),
    MakeField<&ListedCluster::island_gpus>("island_gpus", "",
                                           "GPUs that reach each other without a NIC"),
    MakeField<&ListedCluster::nics_per_node>("nics_per_node", "", "NICs of a node"),
    MakeField<&ListedCluster::network>("network", "", "network between nodes"),
    MakeField<&ListedCluster::nic_bytes_per_s>("nic_bytes_per_s", "bytes/s", "bandwidth of a NIC"),
    MakeField<&ListedCluster::fabric>("fabric", "", "topology of the network"),
});

constexpr auto kHost = std::to_array<Field<ListedHost>>({
    MakeField<&ListedHost::name>("name", "", "name"),
    MakeField<&ListedHost::cpu>("cpu", "", "processor"),
    MakeField<&ListedHost::operators>(
        "operators", "", "time of the dispatcher and the allocator over the reference's"),
    MakeField<&ListedHost::program>("program", "", "time of Python over the reference's"),
    MakeField<&ListedHost::launches>("launches", "", "time of launches over the reference's"),
    MakeField<&ListedHost::samples>("samples", "", "recordings or measured processes"),
    MakeField<&ListedHost::source>("source", "", "source"),
});

constexpr auto kModel = std::to_array<Field<ListedModel>>({
    MakeField<&ListedModel::name>("name", "", "name"),
    MakeField<&ListedModel::parameters>("parameters", "", "parameters"),
    MakeField<&ListedModel::active_parameters>("active_parameters", "",
                                               "parameters that a token meets"),
    MakeField<&ListedModel::layers>("layers", "", "layers"),
    MakeField<&ListedModel::hidden>("hidden", "", "hidden size"),
    MakeField<&ListedModel::also>("also", "", "other names"),
});

constexpr auto kFramework = std::to_array<Field<ListedFramework>>({
    MakeField<&ListedFramework::name>("name", "", "name"),
    MakeField<&ListedFramework::fitted_with>("fitted_with", "",
                                             "framework whose fitted efficiency it has, or own"),
    MakeField<&ListedFramework::origin>("origin", "", "source of its settings"),
});

constexpr auto kMetric = std::to_array<Field<ListedMetric>>({
    MakeField<&ListedMetric::name>("name", "", "name"),
    MakeField<&ListedMetric::unit>("unit", "", "unit"),
    MakeField<&ListedMetric::meaning>("meaning", "", "definition"),
});

constexpr auto kFormat = std::to_array<Field<ListedFormat>>({
    MakeField<&ListedFormat::direction>("direction", "", "read or written"),
    MakeField<&ListedFormat::name>("name", "", "name"),
    MakeField<&ListedFormat::about>("about", "", "files, and where they come from"),
});

constexpr auto kKey = std::to_array<Field<ListedKey>>({
    MakeField<&ListedKey::name>("name", "", "name in its section"),
    MakeField<&ListedKey::usual>("default", "", "default, as job files spell it"),
    MakeField<&ListedKey::meaning>("meaning", "", "definition"),
    MakeField<&ListedKey::type>("type", "", "flag, whole, number, word, list or text"),
    MakeField<&ListedKey::least>("least", "", "least value"),
    MakeField<&ListedKey::most>("most", "", "greatest value"),
    MakeField<&ListedKey::words>("words", "", "words that it may be"),
    MakeField<&ListedKey::searched>("searched", "", "a search may vary it"),
    MakeField<&ListedKey::megatron>("megatron", "", "name in Megatron-LM"),
    MakeField<&ListedKey::nemo>("nemo", "", "name in NeMo"),
    MakeField<&ListedKey::torchtitan>("torchtitan", "", "name in torchtitan"),
    MakeField<&ListedKey::deepspeed>("deepspeed", "", "name in DeepSpeed"),
    MakeField<&ListedKey::fsdp>("fsdp", "", "name in configs of FSDP"),
    MakeField<&ListedKey::published>("published", "", "column of tables of published runs"),
});

constexpr auto kResult = std::to_array<Field<ListResult>>({
    MakeField<&ListResult::gpus>("gpus", "", "GPUs of the catalogue").IfAny(),
    MakeField<&ListResult::clusters>("clusters", "", "clusters of the catalogue").IfAny(),
    MakeField<&ListResult::hosts>("hosts", "", "hosts whose speed is known").IfAny(),
    MakeField<&ListResult::models>("models", "", "models that jobs can name").IfAny(),
    MakeField<&ListResult::frameworks>("frameworks", "", "training frameworks").IfAny(),
    MakeField<&ListResult::metrics>("metrics", "", "metrics of analyze").IfAny(),
    MakeField<&ListResult::formats>("formats", "", "file formats").IfAny(),
    MakeField<&ListResult::model_keys>("model_keys", "", "keys of the section model").IfAny(),
    MakeField<&ListResult::training_keys>("training_keys", "", "keys of the section training")
        .IfAny(),
    MakeField<&ListResult::plan_keys>("plan_keys", "", "keys of the section plan").IfAny(),
    MakeField<&ListResult::framework_keys>("framework_keys", "", "keys of the section framework")
        .IfAny(),
});

}  // namespace

std::span<const std::string_view> ListedThings() {
  return kThings;
}

ORRERY_SET_FIELDS(ListRequest, kRequest)
ORRERY_SET_FIELDS(ListedGpu, kGpu)
ORRERY_SET_FIELDS(ListedCluster, kCluster)
ORRERY_SET_FIELDS(ListedHost, kHost)
ORRERY_SET_FIELDS(ListedModel, kModel)
ORRERY_SET_FIELDS(ListedFramework, kFramework)
ORRERY_SET_FIELDS(ListedMetric, kMetric)
ORRERY_SET_FIELDS(ListedFormat, kFormat)
ORRERY_SET_FIELDS(ListedKey, kKey)
ORRERY_SET_FIELDS(ListResult, kResult)

}  // namespace orrery::api
