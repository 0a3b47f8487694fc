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
constexpr std::string_view advice = "take the original model, or a GGUF file of it";

void check_one_of(const JsonObject& how, std::string_view what, const std::string& given,
                  std::initializer_list<std::string_view> known) {
  check(std::ranges::find(known, given) != known.end(), "{}: {} '{}' is not supported; {}", how.name(), what,
        printable(given, 60), advice);
}

Quantisation of_gptq(const JsonObject& how) {
  const std::string format = string_or(how, "checkpoint_format", "gptq");
  check_one_of(how, "checkpoint_format", format, {"gptq", "gptq_v2"});
  check(!boolean_or(how, "is_marlin_format", false), "{}: weights in Marlin's order are not supported; {}", how.name(),
        advice);
  Quantisation quantisation{.method = "gptq", .bits = require_integer(how, "bits", 2, 8)};
  check(quantisation.bits <= 4 || quantisation.bits == 8, "{}: bits must be 2, 3, 4 or 8", how.name());
  quantisation.symmetric = boolean_or(how, "sym", false);
  quantisation.zeros_less_one = format == "gptq";
  quantisation.block_columns = std::max<int64_t>(integer_or(how, "group_size", -1, -1, most), 0);
  return quantisation;
}

Quantisation of_awq(const JsonObject& how) {
  check_one_of(how, "version", string_or(how, "version", string_or(how, "format", "gemm")), {"gemm", "GEMM"});
  Quantisation quantisation{.method = "awq", .bits = integer_or(how, "bits", 4, 1, 8)};
  check(quantisation.bits == 4, "{}: bits must be 4", how.name());
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
                  "mxfp4-pack-quantized", "mixed-precision"});
  };
  check_format(how);
  for (const char* key : {"sparsity_config", "transform_config"})
    check(!how.has(key) || how.value()[key].empty() || how.value()[key].value("format", "") == "dense",
          "{}: {} is not supported; {}", how.name(), key, advice);
  Quantisation quantisation{.method = "compressed-tensors"};
  const JsonObject groups = require_object(how, "config_groups");
  for (const auto& [name, value] : groups.value().items()) {
    const JsonObject group = require_object(groups, name);
    check_format(group);
    if (!group.has("weights")) continue;
    const JsonObject weights = require_object(group, "weights");
    quantisation.int_bits.push_back(integer_or(weights, "num_bits", 8, 1, 8));
    read_block(weights, "block_structure", quantisation);
  }
  return quantisation;
}

Quantisation of_modelopt(const JsonObject& how) {
  const JsonObject inner = how.has("quantization") ? require_object(how, "quantization") : how;
  check_one_of(inner, "quant_algo", require_string(inner, "quant_algo"), {"FP8", "NVFP4"});
  return {.method = "modelopt"};
}

}  // namespace

std::optional<Quantisation> quantisation_of(const JsonObject& config) {
  const char* key = config.has(hugging_face_key) ? hugging_face_key : mlx_key;
  if (!config.has(key)) return std::nullopt;
  const JsonObject how = require_object(config, key);
  std::string method = string_or(how, "quant_method", "mlx");  // MLX gives both keys
  if (method == "mxfp4" && string_or(config, "model_type", "") == "gpt_oss") return std::nullopt;
  if (method == "auto-round" || method == "auto_round") {
    const std::string packing = string_or(how, "packing_format", "auto_round:auto_gptq");
    check_one_of(how, "packing_format", packing, {"auto_round:auto_gptq", "auto_round:auto_awq"});
    method = packing.ends_with("gptq") ? "gptq" : "awq";
  }
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
  check(method == "mlx", "{}: its weights are quantised ({}), which is not supported; {}", config.name(),
        printable(method, 60), advice);
  check_one_of(how, "mode", string_or(how, "mode", "affine"), {"affine"});
  return Quantisation{.method = method, .block_columns = require_integer(how, "group_size", 1, most)};
}

bool is_quantised(const JsonObject& config) { return config.has(hugging_face_key) || config.has(mlx_key); }

void erase_quantisation(nlohmann::json& config) {
  for (const char* key : {hugging_face_key, mlx_key}) config.erase(key);
}

}  // namespace vkformer
