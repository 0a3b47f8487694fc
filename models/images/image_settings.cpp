#include "models/images/image_settings.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr int64_t most_size = 4096;

/// What a processor does where its file says nothing.
struct ProcessorKind {
  std::string_view model_type;  ///< config.json's, for older files that do not name it
  std::string_view name;        ///< less "ImageProcessor", "ImageProcessorFast" or "FeatureExtractor"
  bool shortest_edge;           ///< what a single number as size means
  int64_t edge;
  Resample resample;
  int64_t crop;  ///< 0: none
  std::array<float, 3> mean, deviation;
};

constexpr std::array<float, 3> halves = {0.5f, 0.5f, 0.5f};
constexpr std::array<float, 3> clip_mean = {0.48145466f, 0.4578275f, 0.40821073f};
constexpr std::array<float, 3> clip_deviation = {0.26862954f, 0.26130258f, 0.27577711f};
constexpr std::string_view qwen = "Qwen2VL", pixtral = "Pixtral";
constexpr ProcessorKind kinds[] = {
    {"vit", "ViT", false, 224, Resample::bilinear, 0, halves, halves},
    {"deit", "DeiT", false, 256, Resample::bicubic, 224, halves, halves},
    {"clip", "CLIP", true, 224, Resample::bicubic, 224, clip_mean, clip_deviation},
    {"siglip", "Siglip", false, 224, Resample::bicubic, 0, halves, halves},
    {"dinov2", "Bit", true, 224, Resample::bicubic, 224, clip_mean, clip_deviation},
    {"llava", "Llava", true, 224, Resample::bicubic, 224, clip_mean, clip_deviation},
    {"idefics3", "Idefics3", false, 364, Resample::lanczos, 0, halves, halves},
    {"smolvlm", "SmolVLM", false, 364, Resample::lanczos, 0, halves, halves},
    {"gemma3", "Gemma3", false, 224, Resample::bilinear, 0, halves, halves},
    {"qwen2_vl", qwen, false, 0, Resample::bicubic, 0, clip_mean, clip_deviation},
    {"qwen2_5_vl", qwen, false, 0, Resample::bicubic, 0, clip_mean, clip_deviation},
    {"qwen3_vl", qwen, false, 0, Resample::bicubic, 0, clip_mean, clip_deviation},
    {"mistral3", pixtral, false, 1024, Resample::bicubic, 0, clip_mean, clip_deviation},
};

/// What a folder says of its pictures.
struct ProcessorFiles {
  JsonObject settings;
  std::optional<JsonObject> processor;  ///< processor_config.json
};

ProcessorFiles files_of(const std::filesystem::path& folder) {
  const auto file = folder / "processor_config.json", older = folder / "preprocessor_config.json";
  std::optional<JsonObject> processor;
  if (std::filesystem::exists(file)) {
    processor = JsonObject::load(file);
    if (processor->has("image_processor")) return {require_object(*processor, "image_processor"), processor};
  }
  check(std::filesystem::exists(older),
        "{}: it has no preprocessor_config.json, which says how pictures are prepared; copy it from the model's source",
        printable(folder.generic_string()));
  return {JsonObject::load(older), processor};
}

const ProcessorKind& kind_of_model(const JsonObject& settings, const JsonObject& config) {
  const std::string model = require_string(config, "model_type");
  for (const ProcessorKind& kind : kinds)
    if (kind.model_type == model) return kind;
  fail("{}: image_processor_type is missing, and that of model_type {} is not known; add it", settings.name(),
       in_quotes(model));
}

constexpr const char *type_key = "image_processor_type", *older_type_key = "feature_extractor_type";

const ProcessorKind& kind_of(const JsonObject& settings) {
  const char* key = settings.has(type_key) ? type_key : older_type_key;
  const std::string type = require_string(settings, key);
  for (const ProcessorKind& kind : kinds)
    for (const std::string_view end : {"ImageProcessor", "ImageProcessorFast", "FeatureExtractor"})
      if (type == std::string(kind.name) + std::string(end)) return kind;
  fail(
      "{}: {} is {}; supported are the processors of ViT, DeiT, CLIP, SigLIP, DINOv2 (Bit), Idefics 3, SmolVLM, "
      "Gemma 3, Qwen2-VL and Pixtral",
      settings.name(), key, in_quotes(type));
}

ImageSettings::Size square(int64_t edge) { return {edge, edge}; }

/// {"height": .., "width": ..} or [height, width].
ImageSettings::Size size_of(const JsonObject& settings, std::string_view key) {
  const json& value = settings.value().at(key);
  if (!value.is_array()) {
    const JsonObject size = require_object(settings, key);
    return {require_integer(size, "height", 1, most_size), require_integer(size, "width", 1, most_size)};
  }
  check(value.size() == 2, "{}: {} has {} numbers; give height and width", settings.name(), key, value.size());
  const JsonObject size =
      JsonObject::make({{"height", value[0]}, {"width", value[1]}}, settings.name() + ", " + std::string(key));
  return {require_integer(size, "height", 1, most_size), require_integer(size, "width", 1, most_size)};
}

void read_size(const JsonObject& settings, const ProcessorKind& kind, ImageSettings& to) {
  const bool is_object = settings.has("size") && settings.value().at("size").is_object();
  if (is_object && require_object(settings, "size").has("shortest_edge")) {
    to.shortest_edge = require_integer(require_object(settings, "size"), "shortest_edge", 1, most_size);
    return;
  }
  if (is_object || (settings.has("size") && settings.value().at("size").is_array())) {
    to.size = size_of(settings, "size");
    return;
  }
  const int64_t edge = integer_or(settings, "size", kind.edge, 1, most_size);
  if (kind.shortest_edge)
    to.shortest_edge = edge;
  else
    to.size = square(edge);
}

/// Of Qwen's models. "size" has numbers of pixels under its names of edges; older files have them beside it.
FitSettings fit_of_settings(const JsonObject& settings) {
  constexpr int64_t most_pixels = int64_t{1} << 40;
  FitSettings fit;
  fit.factor = integer_or(settings, "patch_size", 14, 1, most_size) * integer_or(settings, "merge_size", 2, 1, 64);
  if (settings.has("size")) {
    const JsonObject size = require_object(settings, "size");
    fit.least = integer_or(size, "shortest_edge", fit.least, 1, most_pixels);
    fit.most = integer_or(size, "longest_edge", fit.most, 1, most_pixels);
  }
  fit.least = integer_or(settings, "min_pixels", fit.least, 1, most_pixels);
  fit.most = integer_or(settings, "max_pixels", fit.most, 1, most_pixels);
  return fit;
}

/// Of Pixtral, whose multiples processor_config.json has beside the settings of pictures.
FitSettings pixtral_fit(const ProcessorFiles& files, int64_t edge) {
  const JsonObject& settings = files.settings;
  FitSettings fit{.factor = 16, .longest = edge};
  if (files.processor)
    fit.factor = integer_or(*files.processor, "patch_size", 16, 1, most_size) *
                 integer_or(*files.processor, "spatial_merge_size", 1, 1, 64);
  if (settings.has("size"))
    fit.longest = require_integer(require_object(settings, "size"), "longest_edge", 1, 4 * most_size);
  return fit;
}

/// Of Idefics 3 and SmolVLM.
TileSettings tiles_of_settings(const JsonObject& settings, int64_t edge, bool resizes) {
  const auto longest = [&](const char* key, int64_t otherwise, int64_t most) {
    return settings.has(key) ? require_integer(require_object(settings, key), "longest_edge", 1, most) : otherwise;
  };
  TileSettings tiles{.edge = longest("max_image_size", edge, most_size),
                     .split = boolean_or(settings, "do_image_splitting", true)};
  if (resizes) tiles.longest_edge = longest("size", 4 * edge, 4 * most_size);
  return tiles;
}

std::array<float, 3> channels_or(const JsonObject& settings, std::string_view key,
                                 const std::array<float, 3>& otherwise, double least) {
  if (!settings.has(key)) return otherwise;
  const json& value = settings.value().at(key);
  check(value.is_array() && value.size() == 3, "{}: {} is no list of three numbers; give one of each colour",
        settings.name(), key);
  std::array<float, 3> result = {};
  for (size_t i = 0; i < 3; ++i) {
    const JsonObject one = JsonObject::make({{"value", value[i]}}, settings.name() + ", " + std::string(key));
    result[i] = static_cast<float>(require_number(one, "value", least, 1e6));
  }
  return result;
}

ImageSettings read_settings(const ProcessorFiles& files, const ProcessorKind& kind) {
  const JsonObject& settings = files.settings;
  const bool tiled = kind.resample == Resample::lanczos;  // tiles are all of one size, so nothing is padded
  check(tiled || !boolean_or(settings, "do_pad", false),
        "{}: do_pad is not supported; set it to false, or give another model", settings.name());
  check(!boolean_or(settings, "do_pan_and_scan", false),
        "{}: do_pan_and_scan is not supported; set it to false (the model was trained without, too)", settings.name());
  ImageSettings result;
  const bool resizes = boolean_or(settings, "do_resize", true);
  if (kind.name == qwen || kind.name == pixtral) {
    check(resizes, "{}: do_resize false is not supported; the model takes whole multiples of its patches",
          settings.name());
    result.fit = kind.name == qwen ? fit_of_settings(settings) : pixtral_fit(files, kind.edge);
  } else if (tiled)
    result.tiles = tiles_of_settings(settings, kind.edge, resizes);
  else if (resizes)
    read_size(settings, kind, result);
  result.resample = static_cast<Resample>(integer_or(settings, "resample", static_cast<int64_t>(kind.resample), 0, 5));
  if (boolean_or(settings, "do_center_crop", kind.crop > 0)) {
    const bool number = !settings.has("crop_size") || settings.value().at("crop_size").is_number();
    const int64_t usual = kind.crop > 0 ? kind.crop : kind.edge;
    result.crop =
        number ? square(integer_or(settings, "crop_size", usual, 1, most_size)) : size_of(settings, "crop_size");
  }
  if (boolean_or(settings, "do_rescale", true))
    result.rescale = number_or(settings, "rescale_factor", 1 / 255.0, 1e-9, 1e9);
  if (boolean_or(settings, "do_normalize", true)) {
    result.mean = channels_or(settings, "image_mean", kind.mean, -1e6);
    result.deviation = channels_or(settings, "image_std", kind.deviation, 1e-6);
  }
  return result;
}

}  // namespace

ImageSettings load_image_settings(const std::filesystem::path& folder, std::string* name) {
  const ProcessorFiles files = files_of(folder);
  if (name) *name = files.settings.name();
  const bool typed = files.settings.has(type_key) || files.settings.has(older_type_key);
  return read_settings(
      files, typed ? kind_of(files.settings) : kind_of_model(files.settings, JsonObject::load(folder / "config.json")));
}

ImageSettings image_settings_of(const JsonObject& processor) {
  const ProcessorFiles files{require_object(processor, "image_processor"), processor};
  return read_settings(files, kind_of(files.settings));
}

}  // namespace vkformer
