#include "orrery/workload/job/model_yaml.h"

#include <utility>

#include <fmt/core.h>

#include "orrery/base/mapped_file.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/model/dlrm.h"
#include "orrery/workload/model/hugging_face.h"
#include "orrery/workload/model/listed_layers.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

constexpr double kMostBytes = 1e16;

class ModelReader {
 public:
  ModelReader(const YAML::Node& node, const ModelPlace& place,
              std::vector<std::string>& not_modelled)
      : place_(place), not_modelled_(not_modelled), fields_(node, place.place, first_error_) {
    fields_.Expect({"preset", "hugging_face", "dlrm", "family", "name"});
  }

  Result<Model> Read() && {
    Result<Model> model = ReadKind();
    if (first_error_) {
      return tl::unexpected(*first_error_);
    }
    if (!model) {
      return FailWithin(place_.place, model);
    }
    model->name = fields_.Text("name", model->name);
    return model;
  }

 private:
  Result<Model> ReadKind() {
    if (fields_.Has("preset")) {
      return FromPreset(fields_.Text("preset"));
    }
    if (fields_.Has("hugging_face")) {
      return FromHuggingFace(fields_.Text("hugging_face"));
    }
    if (fields_.Has("dlrm")) {
      YamlFields dlrm = fields_.Map("dlrm");
      Model model = {.name = "dlrm", .body = ReadDlrm(dlrm, {})};
      fields_.RefuseOthers();
      return model;
    }
    if (fields_.Has("layers") && fields_.Node("layers").IsSequence()) {
      return FromLayers(fields_.Node("layers"));
    }
    return FromFamily();
  }

  Result<Model> FromShape(std::string name, const TransformerShape& base) {
    const TransformerShape shape = ReadTransformerShape(fields_, base);
    fields_.RefuseOthers();
    if (first_error_) {
      return tl::unexpected(*first_error_);
    }
    ORRERY_TRY(Transformer transformer, MakeTransformer(shape));
    return Model{.name = std::move(name), .body = std::move(transformer)};
  }

  Result<Model> FromPreset(const std::string& name) {
    ORRERY_TRY(const Preset* const preset, FindPreset(name));
    if (const auto* const shape = std::get_if<TransformerShape>(&preset->facts)) {
      return FromShape(preset->name, *shape);
    }
    if (const auto* const dlrm = std::get_if<Dlrm>(&preset->facts)) {
      return Model{.name = preset->name, .body = ReadDlrm(fields_, *dlrm)};
    }
    fields_.RefuseOthers();
    return ModelOf(*preset, place_.type);
  }

  Result<Model> FromHuggingFace(const std::string& file) {
    ORRERY_TRY(const MappedFile content, MappedFile::Open((place_.folder / file).string()));
    const auto read = ReadHuggingFace(content.bytes());
    if (!read) {
      return FailWithin(file, read);
    }
    not_modelled_.insert(not_modelled_.end(), read->not_modelled.begin(), read->not_modelled.end());
    return FromShape(read->name, read->shape);
  }

  Result<Model> FromFamily() {
    if (!fields_.Has("family")) {
      return FromShape("transformer", {});
    }
    ORRERY_TRY(const Family* const family, FindFamily(fields_.Text("family")));
    return FromShape(family->name, family->shape);
  }

  Result<Model> FromLayers(const YAML::Node& nodes) {
    LayerList list;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ORRERY_TRY(ListedLayer layer, ReadLayer(nodes[i], i));
      list.layers.push_back(std::move(layer));
    }
    if (list.layers.empty()) {
      fields_.Wrong("layers", "must have a layer", "an empty list");
    }
    fields_.RefuseOthers();
    return Model{.name = "layers", .body = std::move(list)};
  }

  Result<ListedLayer> ReadLayer(const YAML::Node& node, std::size_t index) {
    const std::string place = fmt::format("layers {}", index + 1);
    if (node.IsScalar()) {
      ORRERY_TRY(const kernel::Operator op, ReadOperator(node.Scalar(), place));
      return LayerOf(op);
    }
    YamlFields fields(node, fmt::format("{}: {}", place_.place, place), first_error_);
    ListedLayer layer;
    layer.name = fields.Text("name", place);
    ORRERY_TRY(layer.forward, ReadOperators(fields.Texts("forward"), place));
    ORRERY_TRY(layer.backward, ReadOperators(fields.Texts("backward"), place));
    layer.parameters = fields.Sizes("parameters", 0, std::vector<std::int64_t>{});
    layer.output_elements = fields.Size("output", 0);
    fields.RefuseOthers();
    return layer;
  }

  static Result<kernel::Operator> ReadOperator(const std::string& text, const std::string& place) {
    const auto op = kernel::ParseOperator(text);
    if (!op) {
      return FailWithin(place, op);
    }
    if (const kernel::Work work = kernel::WorkOf(*op); work.Bytes() > kMostBytes) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("{}: '{}' moves more than {:g} bytes", place, text, kMostBytes));
    }
    return *op;
  }

  static Result<std::vector<kernel::Operator>> ReadOperators(const std::vector<std::string>& texts,
                                                             const std::string& place) {
    std::vector<kernel::Operator> operators;
    for (const std::string& text : texts) {
      ORRERY_TRY(const kernel::Operator op, ReadOperator(text, place));
      operators.push_back(op);
    }
    return operators;
  }

  const ModelPlace& place_;
  std::vector<std::string>& not_modelled_;
  std::optional<Error> first_error_;
  YamlFields fields_;
};

}  // namespace

Result<Model> ReadModel(const YAML::Node& node, const ModelPlace& place,
                        std::vector<std::string>& not_modelled) {
  if (!node.IsScalar()) {
    return ModelReader(node, place, not_modelled).Read();
  }
  YAML::Node map;
  map["preset"] = node.Scalar();
  return ModelReader(map, place, not_modelled).Read();
}

}  // namespace orrery::workload
