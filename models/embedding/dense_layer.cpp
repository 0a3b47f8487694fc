#include "models/embedding/dense_layer.h"

#include <cmath>

#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

DenseLayer DenseLayer::load(const std::filesystem::path& folder) {
  constexpr int64_t most = 1 << 20;
  const auto config = JsonObject::load(folder / "config.json");
  DenseLayer layer{.in = require_integer(config, "in_features", 1, most),
                   .out = require_integer(config, "out_features", 1, most)};
  const std::string type = string_or(config, "activation_function", "torch.nn.modules.activation.Tanh");
  const std::string kind = type.substr(type.rfind('.') + 1);
  check(kind == "Tanh" || kind == "Identity", "{}: activation_function {} is not supported; Tanh and Identity are",
        config.name(), printable(kind, 60));
  for (const char* key : {"module_input_name", "module_output_name"})
    check(string_or(config, key, "sentence_embedding") == "sentence_embedding",
          "{}: {} is not supported; sentence_embedding is", config.name(), key);
  layer.tanh = kind == "Tanh";
  std::vector<ParameterSpec> parameters{{"linear.weight", {layer.out, layer.in}}};
  const bool has_bias = boolean_or(config, "bias", true);
  if (has_bias) parameters.push_back({"linear.bias", {layer.out}});
  const Weights weights(parameters, folder);
  layer.weight = weights.read("linear.weight");
  if (has_bias) layer.bias = weights.read("linear.bias");
  return layer;
}

std::vector<float> DenseLayer::of(std::span<const float> x) const {
  check(std::ssize(x) == in, "a Dense layer takes {} numbers, and gets {}", in, x.size());
  std::vector<float> y;
  for (int64_t row = 0; row < out; ++row) {
    double sum = bias.empty() ? 0 : static_cast<double>(bias[static_cast<size_t>(row)]);
    const std::span weights = std::span(weight).subspan(static_cast<size_t>(row * in), x.size());
    for (size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(weights[i]) * static_cast<double>(x[i]);
    y.push_back(static_cast<float>(tanh ? std::tanh(sum) : sum));
  }
  return y;
}

}  // namespace vkformer
