#include "models/quantised/quantisation.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

constexpr const char* hugging_face_key = "quantization_config";
constexpr const char* mlx_key = "quantization";
constexpr int64_t most = int64_t{1} << 30;

void check_one_of(const JsonObject& how, std::string_view what, const std::string& given,
                  std::initializer_list<std::string_view> known) {
  check(std::ranges::find(known, given) != known.end(), "{}: {} '{}' is not supported; {}", how.name(), what,
        printable(given, 60), other_than_quantised);
}

Quantisation of_gptq(const JsonObject& how) {
  const std::string format = string_or(how, "checkpoint_format", "gptq");
  check_one_of(how, "checkpoint_format", format, {"gptq", "gptq_v2"});
  check(!boolean_or(how, "is_marlin_format", false), "{}: weights in Marlin's order are not supported; {}", how.name(),
        other_than_quantised);
  Quantisation quantisation{.method = "gptq"};
  quantisation.symmetric = boolean_or(how, "sym", false);
  quantisation.zeros_less_one = format == "gptq";
  quantisation.block_columns = std::max<int64_t>(integer_or(how, "group_size", -1, -1, most), 0);
  return quantisation;
}

Quantisation of_awq(const JsonObject& how) {
  check_one_of(how, "version", string_or(how, "version", string_or(how, "format", "gemm")), {"gemm", "GEMM"});
  check(integer_or(how, "bits", 4, 1, 8) == 4, "{}: bits must be 4", how.name());
  Quantisation quantisation{.method = "awq"};
  quantisation.block_columns = std::max<int64_t>(integer_or(how, "group_size", -1, -1, most), 0);
  return quantisation;
}

/// A list of two under `key` is what shares a scale.
void read_block(const JsonObject& how, const char* key, Quantisation& quantisation) {
  if (!how.has(key)) return;
  const nlohmann::json& block = how.value()[key];
  const auto size = [](const nlohmann::json& n) { return n.is_number_integer() && n > 0 && n < most; };
  check(block.is_array() && block.size() == 2 && std::ranges::all_of(block, size), "{}: {} must be two sizes",
        how.name(), key);
  quantisation.block_rows = block[0].get<int64_t>();
  quantisation.block_columns = block[1].get<int64_t>();
}

Quantisation of_compressed_tensors(const JsonObject& how) {
  const auto check_format = [](const JsonObject& part) {
    check_one_of(part, "format", string_or(part, "format", "pack-quantized"),
                 {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "nvfp4-pack-quantized",
                  "mxfp4-pack-quantized", "mxfp8-quantized", "mixed-precision"});
  };
  check_format(how);
  for (const char* key : {"sparsity_config", "transform_config"}) {
    if (!how.has(key)) continue;
    const JsonObject more = require_object(how, key);
    check(more.value().empty() || string_or(more, "format", "") == "dense", "{}: {} is not supported; {}", how.name(),
          key, other_than_quantised);
  }
  Quantisation quantisation{.method = "compressed-tensors"};
  const JsonObject groups = require_object(how, "config_groups");
  for (const auto& [name, value] : groups.value().items()) {
    const JsonObject group = require_object(groups, name);
    check_format(group);
    if (!group.has("weights")) continue;
    const JsonObject weights = require_object(group, "weights");
    quantisation.int_bits.push_back(integer_or(weights, "num_bits", 8, 1, 8));
    quantisation.block_columns = std::max<int64_t>(integer_or(weights, "group_size", 0, -1, most), 0);
    read_block(weights, "block_structure", quantisation);
  }
  return quantisation;
}

Quantisation of_modelopt(const JsonObject& how) {
  check_one_of(how, "quant_algo", require_string(how, "quant_algo"),
               {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "NVFP4", "W4A16_NVFP4", "MIXED_PRECISION"});
  return {.method = "modelopt"};
}

Quantisation of_mlx(const JsonObject& how) {
  const auto group_of = [](const JsonObject& part) {
    check_one_of(part, "mode", string_or(part, "mode", "affine"), {"affine"});
    return require_integer(part, "group_size", 1, most);
  };
  Quantisation quantisation{.method = "mlx", .block_columns = group_of(how)};
  for (const auto& [layer, value] : how.value().items())
    if (value.is_object()) quantisation.layer_columns[layer] = group_of(require_object(how, layer));
  return quantisation;
}

/// Which object of a config says it: that of a part that writes may.
std::optional<JsonObject> described_in(const JsonObject& config) {
  for (const char* key : {hugging_face_key, mlx_key})
    if (config.has(key)) return require_object(config, key);
  if (config.has("text_config")) {
    const JsonObject text = require_object(config, "text_config");
    if (text.has(hugging_face_key)) return require_object(text, hugging_face_key);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Quantisation> quantisation_of(const JsonObject& config) {
  const auto described = described_in(config);
  if (!described) return std::nullopt;
  const JsonObject& how = *described;
  std::string method = string_or(how, "quant_method", "");
  if (method == "mxfp4" && string_or(config, "model_type", "") == "gpt_oss") return std::nullopt;
  if (method == "auto-round" || method == "intel/auto-round") {
    const std::string packing = string_or(how, "packing_format", string_or(how, "backend", "auto_round:gptq"));
    check_one_of(how, "packing_format", packing,
                 {"auto_round:auto_gptq", "auto_round:gptq", "auto_round:auto_awq", "auto_round:awq"});
    method = packing.ends_with("gptq") ? "gptq" : "awq";
  }
  if (method.empty() && (boolean_or(how, "load_in_4bit", false) || boolean_or(how, "load_in_8bit", false)))
    method = "bitsandbytes";
  if (method == "gptq") return of_gptq(how);
  if (method == "awq") return of_awq(how);
  if (method == "compressed-tensors") return of_compressed_tensors(how);
  if (method == "modelopt") return of_modelopt(how);
  if (method == "bitsandbytes" || method == "fbgemm_fp8") return Quantisation{.method = method};
  if (method == "fp8") {
    Quantisation quantisation{.method = method};
    read_block(how, "weight_block_size", quantisation);
    return quantisation;
  }
  if (method == "metal" || (method.empty() && how.has("group_size"))) return of_mlx(how);
  fail("{}: its weights are quantised ({}), which is not supported; {}", config.name(),
       method.empty() ? "without a quant_method" : printable(method, 60), other_than_quantised);
}

bool is_quantised(const JsonObject& config) { return described_in(config).has_value(); }

JsonObject with_quantisation_beside(const JsonObject& config, const std::filesystem::path& folder) {
  if (is_quantised(config)) return config;
  const auto with = [&](nlohmann::json how) {
    nlohmann::json all = config.value();
    all[hugging_face_key] = std::move(how);
    return JsonObject::make(std::move(all), config.name());
  };
  if (const auto file = folder / "quantize_config.json"; std::filesystem::exists(file)) {
    nlohmann::json how = JsonObject::load(file).value();
    how["quant_method"] = "gptq";
    return with(std::move(how));
  }
  if (const auto file = folder / "quant_config.json"; std::filesystem::exists(file)) {
    const JsonObject how = JsonObject::load(file);
    return with({{"quant_method", "awq"},
                 {"bits", integer_or(how, "w_bit", 4, 1, 8)},
                 {"group_size", integer_or(how, "q_group_size", -1, -1, most)},
                 {"version", string_or(how, "version", "GEMM")}});
  }
  if (const auto file = folder / "hf_quant_config.json"; std::filesystem::exists(file))
    return with({{"quant_method", "modelopt"},
                 {"quant_algo", require_string(require_object(JsonObject::load(file), "quantization"), "quant_algo")}});
  return config;
}

void erase_quantisation(nlohmann::json& config) {
  for (const char* key : {hugging_face_key, mlx_key}) config.erase(key);
}

}  // namespace vkformer
