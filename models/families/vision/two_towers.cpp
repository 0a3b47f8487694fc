#include "models/families/vision/two_towers.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/vision/text_tower.h"
#include "models/families/vision/vision.h"
#include "runtime/check.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rms_norm/rms_norm.h"

namespace vkformer {

namespace {

constexpr const char* unit_gain = "cosine.gain";  ///< makes a row's root mean square its length

struct Towers {
  VisionConfig pictures;
  TextTowerConfig texts;
};

/// The config of a tower. Older files have a second object for each, whose keys count.
JsonObject part_of(const JsonObject& json, const std::string& key) {
  nlohmann::json whole = nlohmann::json::object();
  for (const std::string& name : {key, key + "_dict"})
    if (json.has(name)) whole.update(require_object(json, name).value());
  return JsonObject::make(std::move(whole), fmt::format("{}, {}", json.name(), key));
}

Towers towers_of(const JsonObject& json) {
  const bool clip = require_string(json, "model_type") == "clip";
  architecture_of(json, {clip ? "CLIPModel" : "SiglipModel"});
  const int64_t projection = clip ? integer_or(json, "projection_dim", 512, 1, most_width) : 0;
  const Towers towers{
      VisionConfig::tower(part_of(json, "vision_config"), clip ? "clip_vision_model" : "siglip_vision_model",
                          projection),
      TextTowerConfig::tower(part_of(json, "text_config"), clip ? "clip_text_model" : "siglip_text_model", projection)};
  const int64_t width = clip ? projection : towers.pictures.stack.width;
  check(towers.texts.projection == width, "{}: vectors of texts have {} numbers, those of pictures {}", json.name(),
        towers.texts.projection, width);
  return towers;
}

/// `read`: what it was made of, whose other keys (ids of special tokens) stay.
nlohmann::json config_of(const Towers& towers, bool clip, const JsonObject& read) {
  nlohmann::json json = {{"model_type", clip ? "clip" : "siglip"},
                         {"architectures", {clip ? "CLIPModel" : "SiglipModel"}},
                         {"torch_dtype", "float32"}};
  if (clip) json["projection_dim"] = towers.pictures.projection;
  for (const auto& [key, part] :
       {std::pair("vision_config", towers.pictures.to_json()), {"text_config", towers.texts.to_json()}}) {
    json[key] = part_of(read, key).value();
    json[key].update(part);
    for (const char* of_the_whole : {"architectures", "dtype", "torch_dtype"}) json[key].erase(of_the_whole);
  }
  return json;
}

Towers towers_of(const Model& whole) {
  check(has_two_towers(whole), "a {} model has not two towers, as CLIP's and SigLIP's have", whole.family);
  return towers_of(JsonObject::make(*whole.config, whole.family));
}

/// Without what belongs to texts.
Pass picture_pass(const Pass& pass) { return {.seed = pass.seed, .source = pass.source}; }

/// A tower whose parameters are stored as those of the whole.
Model within(const Model& whole, Model tower) {
  check(!whole.adapter,
        "adapters of a {} model's towers are not supported; make one model of both: vkformer convert MODEL NEW --merge "
        "ADAPTER",
        whole.family);
  for (ParameterSpec& parameter : tower.parameters)
    parameter = *std::ranges::find(whole.parameters, parameter.name, &ParameterSpec::name);
  tower.config = whole.config;
  return tower;
}

}  // namespace

bool has_two_towers(const Model& model) { return model.task == Task::match; }
bool scores_pairs(const Model& whole) { return whole.family == "siglip"; }
Model picture_tower(const Model& whole) { return within(whole, make_vision(towers_of(whole).pictures)); }
Model text_tower(const Model& whole) { return within(whole, make_text_tower(towers_of(whole).texts)); }

Model make_two_towers(const JsonObject& json) {
  const Towers towers = towers_of(json);
  const bool clip = towers.texts.is_clip();
  const Model pictures = make_vision(towers.pictures), texts = make_text_tower(towers.texts);
  const int64_t width = towers.texts.projection;
  Model model{.family = clip ? "clip" : "siglip",
              .task = Task::match,
              .parameters = texts.parameters,
              .vocabulary = texts.vocabulary,
              .context = texts.context,
              .picture = pictures.picture,
              .layers = texts.layers + pictures.layers,
              .constants = pictures.constants};
  model.parameters.insert(model.parameters.end(), pictures.parameters.begin(), pictures.parameters.end());
  for (const char* name : {logit_scale, logit_bias}) {
    if (clip && name == logit_bias) continue;
    model.parameters.push_back(
        {.name = name, .shape = clip ? Shape{} : Shape{1}, .training = ParameterSpec::Training::never});
  }
  model.constants.push_back({unit_gain, {{width}}, [width] {
                               const double gain = 1 / std::sqrt(static_cast<double>(width));
                               return std::vector<float>(static_cast<size_t>(width), static_cast<float>(gain));
                             }});
  model.hidden = [pictures](Graph& graph, const Pass& pass) { return pictures.hidden(graph, picture_pass(pass)); };
  model.head = [pictures, texts, width](Graph& graph, const Pass& pass, Value hidden) {
    const auto unit = [&](Value x) {
      return rms_norm(graph, x, graph.persistent(unit_gain, {width}, Role::constant), 0);
    };
    const Value seen = unit(pictures.head(graph, picture_pass(pass), hidden));
    const Value read = unit(texts.head(graph, pass, texts.hidden(graph, pass)));
    return matmul(graph, seen, read, {.transpose_b = true});
  };
  model.config = std::make_shared<const nlohmann::json>(config_of(towers, clip, json));
  return model;
}

}  // namespace vkformer
