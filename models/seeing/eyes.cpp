#include "models/seeing/eyes.h"

#include <nlohmann/json.hpp>
#include <set>

#include "models/seeing/eye_parts.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

struct SeeingFamily {
  std::string_view type;
  Eyes (*make)(const JsonObject& config);
};
constexpr SeeingFamily seeing_families[] = {
    {"llava", make_llava},      {"idefics3", make_idefics3},  {"smolvlm", make_idefics3}, {"gemma3", make_gemma3},
    {"qwen2_vl", make_qwen_vl}, {"qwen2_5_vl", make_qwen_vl}, {"qwen3_vl", make_qwen_vl}, {"mistral3", make_pixtral}};

const SeeingFamily* seeing_family(const JsonObject& config) {
  const std::string type = string_or(config, "model_type", "");
  for (const SeeingFamily& family : seeing_families)
    if (family.type == type) return &family;
  return nullptr;
}

}  // namespace

int64_t Eyes::weight_bytes() const {
  int64_t sum = 0;
  for (const ParameterSpec& parameter : model.parameters) sum += parameter.stored().bytes();
  return sum;
}

Graph Eyes::graph(int64_t size) const {
  if (any_size) return any_size->graph(size);
  Graph graph;
  const Pass pass{.source = graph.input("source", {1, model.picture.positions(), model.picture.columns()})};
  graph.mark_output(model.hidden(graph, pass), "states");
  return graph;
}

std::string Eyes::text_of(const std::string& position, int64_t rows, int64_t columns) const {
  std::string view;
  for (int64_t i = 0; i < positions; ++i) view += position;
  if (!tiled) return before + view + after;
  const std::string edge = "<fake_token_around_image>";
  std::string text;
  for (int64_t row = 1; row <= rows; ++row) {
    for (int64_t column = 1; column <= columns; ++column)
      text += fmt::format("{}<row_{}_col_{}>{}", edge, row, column, view);
    text += '\n';
  }
  if (rows > 0) text += '\n';
  return text + edge + "<global-img>" + view + edge;
}

void check_writer(const JsonObject& config) {
  const std::string type = require_string(require_object(config, "text_config"), "model_type");
  check(type == "llama" || type == "mistral" || type == "ministral3" || type == "qwen2" || type == "gemma3_text",
        "{}: text_config is of {}; with eyes llama, mistral, ministral3, qwen2 and gemma3_text are supported",
        config.name(), in_quotes(type));
}

int32_t picture_token(const JsonObject& config, const char* key, int32_t usual, int64_t vocabulary) {
  return static_cast<int32_t>(integer_or(config, key, usual, 0, vocabulary - 1));
}

JsonObject without_pooling(const JsonObject& vision_config) {
  nlohmann::json config = vision_config.value();
  config.erase("vision_use_head");
  return JsonObject::make(std::move(config), vision_config.name());
}

void add_tower_names(std::vector<ParameterSpec>& parameters) {
  const std::string full = std::string(vision_tower) + "vision_model.";
  for (ParameterSpec& parameter : parameters) {
    std::vector<std::string> names{"model." + parameter.name};
    if (parameter.name.starts_with(full)) {
      const std::string newer = vision_tower + parameter.name.substr(full.size());
      names.insert(names.end(), {newer, "model." + newer});
    }
    parameter.other_names = names;
  }
}

void finish_eyes(Eyes& eyes, const JsonObject& config, const nlohmann::json& settled) {
  Model& model = eyes.model;
  model.family = require_string(config, "model_type");
  model.task = Task::states;
  nlohmann::json whole = config.value();
  whole.merge_patch(settled);
  model.config = std::make_shared<const nlohmann::json>(std::move(whole));
  model.head = [](Graph&, const Pass&, Value states) { return states; };
  const Graph graph = eyes.graph(1);
  std::set<std::string> read;
  for (const Value tensor : graph.persistents()) read.insert(graph.info(tensor).name);
  std::erase_if(model.parameters, [&](const ParameterSpec& parameter) {
    return !read.contains(parameter.name) && !read.contains(parameter.joint);
  });
  std::erase_if(model.constants, [&](const ConstantSpec& constant) { return !read.contains(constant.name); });
}

bool has_eyes(const JsonObject& config) { return seeing_family(config) != nullptr; }

Eyes make_eyes(const JsonObject& config) {
  const SeeingFamily* family = seeing_family(config);
  check(family != nullptr,
        "{}: this {} model has no eyes here; pictures can be shown to models of llava, idefics3, smolvlm, gemma3, "
        "qwen2_vl, qwen2_5_vl, qwen3_vl and mistral3",
        config.name(), printable(string_or(config, "model_type", ""), 60));
  return family->make(config);
}

}  // namespace vkformer
