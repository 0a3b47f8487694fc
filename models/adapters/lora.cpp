#include "models/adapters/lora.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/passes/rewrite.h"
#include "shaders/dropout/dropout.h"
#include "shaders/matmul/matmul.h"
#include "shaders/router/router.h"

namespace vkformer {

namespace {

constexpr std::string_view weight_end = ".weight";
constexpr const char* all_linear = "all-linear";
// Dropout draws of the families' own layers count up from 0.
constexpr int64_t first_stream = int64_t{1} << 24;

/// PEFT's TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING, as far as there are such families here.
std::vector<std::string> usual_targets(const std::string& family) {
  static const std::map<std::string_view, std::vector<std::string>> known{
      {"gpt2", {"c_attn"}},
      {"gpt_neox", {"query_key_value"}},
      {"bloom", {"query_key_value"}},
      {"falcon", {"query_key_value"}},
      {"gpt_bigcode", {"c_attn"}},
      {"codegen", {"qkv_proj"}},
      {"mpt", {"Wqkv"}},
      {"t5", {"q", "v"}},
      {"phi", {"q_proj", "v_proj", "fc1", "fc2"}},
      {"phi3", {"qkv_proj"}},
      {"bert", {"query", "value"}},
      {"roberta", {"query", "value"}},
      {"xlm-roberta", {"query", "value"}},
      {"camembert", {"query", "value"}},
      {"electra", {"query", "value"}},
      {"albert", {"query", "value"}},
      {"vit", {"query", "value"}},
      {"deit", {"query", "value"}},
      {"dinov2", {"query", "value"}},
      {"deberta-v2", {"query_proj", "value_proj"}},
      {"distilbert", {"q_lin", "v_lin"}},
      // Not PEFT's: other encoders; layers without attention, too, and those of latent attention.
      {"mpnet", {"q", "v"}},
      {"nomic_bert", {"Wqkv"}},
      {"modernbert", {"Wqkv"}},
      {"xlnet", {"layer_1", "layer_2"}},  // its attention has no linear layers
      {"qwen3_5_text", {"q_proj", "v_proj", "in_proj_qkv"}},
      {"qwen3_5_moe_text", {"q_proj", "v_proj", "in_proj_qkv"}},
      {"qwen3_next", {"q_proj", "v_proj", "out_proj"}},
      {"deepseek_v2", {"kv_a_proj_with_mqa", "o_proj"}},
      {"deepseek_v3", {"kv_a_proj_with_mqa", "o_proj"}},
      {"glm4_moe_lite", {"kv_a_proj_with_mqa", "o_proj"}},
      {"nemotron_h", {"q_proj", "v_proj", "in_proj"}},
      {"lfm2", {"q_proj", "v_proj", "in_proj"}},
      {"lfm2_moe", {"q_proj", "v_proj", "in_proj"}}};
  const auto found = known.find(family);
  return found == known.end() ? std::vector<std::string>{"q_proj", "v_proj"} : found->second;
}

/// Files, and so PEFT, have its rows among those of others in a module of another name.
bool in_groups(const ParameterSpec& parameter) {
  return parameter.stack && parameter.stack->layout == ParameterSpec::Stack::Layout::groups;
}

/// The uses of the persistent tensors in a graph of the whole model.
struct Uses {
  struct Product {
    bool input_major = false, head = false, router = false;
  };
  std::map<std::string, Product> products;
  std::set<std::string> others;
  std::set<std::string> body;  ///< what is read before the head
};

Uses uses_of(const Model& model) {
  Graph graph;
  const BatchShape smallest{.source_positions = model.has_encoder() ? 1 : 0};
  Pass pass = add_inputs(graph, model, smallest);
  if (model.has_encoder()) pass.memory = model.encode(graph, pass);
  const Value hidden = model.hidden(graph, pass);
  const size_t before_head = graph.nodes().size();
  model.head(graph, pass, hidden);
  Uses uses;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i] || graph.info(node.inputs[i]).storage != Storage::persistent) continue;
      const std::string& name = graph.info(node.inputs[i]).name;
      if (n < before_head) uses.body.insert(name);
      if (is_matmul(node) && i == 1 && node.in(1).rank() == 2 && !node.flag("transpose_a"))
        uses.products[name] = {.input_major = !node.flag("transpose_b"), .head = n >= before_head};
      else
        uses.others.insert(name);
    }
  }
  for (const Node& node : graph.nodes())
    if (is_router(node)) {
      const Node& logits = graph.nodes()[static_cast<size_t>(graph.info(node.inputs[0]).producer)];
      if (is_matmul(logits)) uses.products[graph.info(logits.inputs[1]).name].router = true;
    }
  return uses;
}

}  // namespace

bool ends_path(const std::string& path, const std::string& target) {
  return path == target || path.ends_with('.' + target);
}

double LoraConfig::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(r) : r);
}

std::vector<LinearModule> linear_modules(const Model& model) {
  const Uses uses = uses_of(model);
  std::vector<LinearModule> modules;
  std::map<std::string, int64_t> rows;  // of a joint tensor, so far
  for (const ParameterSpec& parameter : model.parameters) {
    const std::string& weight = parameter.joint.empty() ? parameter.name : parameter.joint;
    const auto product = uses.products.find(weight);
    if (product == uses.products.end() || uses.others.contains(weight) || !parameter.name.ends_with(weight_end) ||
        parameter.shape.rank() != 2 || in_groups(parameter))
      continue;
    const bool input_major = product->second.input_major;
    LinearModule module{.path = parameter.name.substr(0, parameter.name.size() - weight_end.size()),
                        .parameter = parameter.name,
                        .weight = weight,
                        .in = parameter.shape[input_major ? 0 : 1],
                        .out = parameter.shape[input_major ? 1 : 0],
                        .input_major = input_major,
                        .head = product->second.head,
                        .router = product->second.router};
    if (!parameter.joint.empty()) module.first = std::exchange(rows[weight], rows[weight] + module.out);
    modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> modules_of_targets(const Model& model, const std::vector<std::string>& targets) {
  const std::vector<LinearModule> modules = linear_modules(model);
  const std::vector<std::string> wanted = targets.empty() ? usual_targets(model.family) : targets;
  std::set<std::string> chosen;
  for (const std::string& target : wanted) {
    bool found = false;
    for (const LinearModule& module : modules) {
      if (target == all_linear ? module.head || module.router : !ends_path(module.path, target)) continue;
      chosen.insert(module.path);
      found = true;
    }
    if (found) continue;
    std::set<std::string> names;
    for (const LinearModule& module : modules) names.insert(module.path.substr(module.path.rfind('.') + 1));
    fail("this {} model has no linear module '{}'; it has {}", model.family, printable(target, 60),
         fmt::join(names, ", "));
  }
  std::vector<std::string> paths;
  for (const LinearModule& module : modules)
    if (chosen.contains(module.path)) paths.push_back(module.path);
  return paths;
}

bool is_within(const std::string& name, const std::vector<std::string>& modules) {
  return std::ranges::any_of(modules, [&](const std::string& module) { return name.starts_with(module + '.'); });
}

std::vector<std::string> whole_modules(const Model& model, const std::vector<std::string>& anew) {
  if (model.generates()) return {};
  const Uses uses = uses_of(model);
  const auto begin_of = [](const std::string& path, size_t first) { return path.substr(0, path.find('.', first) + 1); };
  const std::string body = begin_of(model.parameters.front().name, 0);  // of the word embeddings: "bert."
  std::vector<std::string> modules;
  for (const ParameterSpec& parameter : model.parameters) {
    const std::string& name = parameter.name;
    if (uses.body.contains(name) || !(uses.products.contains(name) || uses.others.contains(name))) continue;
    const bool begins = std::ranges::find(anew, name) != anew.end(), of_body = name.starts_with(body);
    if (model.task == Task::masked) {
      check(
          !begins || !parameter.decayed(),
          "the base has no {}, and no head for words is trained beside an adapter; train this {} model without --lora "
          "first",
          name, model.family);
      continue;
    }
    if (of_body && !begins) continue;
    std::string module = begin_of(name, of_body ? body.size() : 0);
    module.pop_back();
    if (modules.empty() || modules.back() != module) modules.push_back(std::move(module));
  }
  return modules;
}

namespace {

/// The constant of a product of several modules; those of one shape share it.
ConstantSpec blocks_of(const LowRankProduct& product, int64_t rank) {
  std::string name = fmt::format("lora_blocks.{}x{}", product.out, rank);
  for (const LinearModule& module : product.modules) name += fmt::format(".{}+{}", module.first, module.out);
  const int64_t columns = rank * std::ssize(product.modules);
  return {name, {{product.out, columns}}, [product, rank, columns] {
            std::vector<float> values(static_cast<size_t>(product.out * columns), 0);
            for (int64_t m = 0; m < std::ssize(product.modules); ++m) {
              const LinearModule& module = product.modules[static_cast<size_t>(m)];
              for (int64_t row = module.first; row < module.first + module.out; ++row)
                std::fill_n(values.begin() + row * columns + m * rank, rank, 1.0f);
            }
            return values;
          }};
}

int64_t rows_of_weight(const Model& model, const std::string& weight) {
  int64_t rows = 0;
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.joint == weight) rows += parameter.shape[0];
  return rows;
}

}  // namespace

void adapt(Model& model, const LoraConfig& config, const std::vector<std::string>& paths, const std::string& base,
           const std::vector<std::string>& whole) {
  check(!model.adapter, "this {} model has an adapter already", model.family);
  auto adapter = std::make_shared<Adapter>(Adapter{.config = config, .base = base, .whole = whole});
  std::set<std::string> wanted(paths.begin(), paths.end());
  std::map<std::string, size_t> places;
  for (LinearModule& module : linear_modules(model)) {
    if (wanted.erase(module.path) == 0 || is_within(module.parameter, whole)) continue;
    const auto [place, anew] = places.try_emplace(module.weight, adapter->products.size());
    if (anew) {
      const std::string name = module.weight.substr(0, module.weight.size() - weight_end.size());
      const int64_t rows = rows_of_weight(model, module.weight);
      adapter->products.push_back({.weight = module.weight,
                                   .a = name + ".lora_A.weight",
                                   .b = name + ".lora_B.weight",
                                   .in = module.in,
                                   .out = rows > 0 ? rows : module.out});
    }
    adapter->products[place->second].modules.push_back(std::move(module));
  }
  check(wanted.empty(), "this {} model has no linear module {}", model.family, fmt::join(wanted, ", "));
  check(!adapter->products.empty(), "an adapter of no module was asked for, but of those that are trained whole");

  for (ParameterSpec& parameter : model.parameters) {
    if (!is_within(parameter.name, whole)) {
      parameter.training = ParameterSpec::Training::frozen;
      continue;
    }
    parameter.dtype = DType::f32;
    parameter.turned = false;
  }
  std::set<std::string> constants;
  for (LowRankProduct& product : adapter->products) {
    const int64_t columns = config.rank * std::ssize(product.modules);
    // PEFT's kaiming_uniform(a = sqrt 5), and zeros.
    model.parameters.push_back({.name = product.a,
                                .shape = {columns, product.in},
                                .start = ParameterSpec::Start::uniform,
                                .deviation = 1 / std::sqrt(static_cast<double>(product.in)),
                                .adapter = true});
    model.parameters.push_back(
        {.name = product.b, .shape = {product.out, columns}, .start = ParameterSpec::Start::zeros, .adapter = true});
    if (product.modules.size() == 1 && product.modules[0].out == product.out) continue;
    ConstantSpec blocks = blocks_of(product, config.rank);
    product.blocks = blocks.name;
    if (constants.insert(blocks.name).second) model.constants.push_back(std::move(blocks));
  }
  model.adapter = std::move(adapter);
}

namespace {

/// Adds low-rank products to a copy of a graph.
class Adapting {
 public:
  Adapting(const Graph& from, const Adapter& adapter) : from_(from), config_(adapter.config) {
    for (const LowRankProduct& product : adapter.products) products_[product.weight] = &product;
    for (Value input : from.inputs())
      if (from.info(input).name == "seed") seed_ = input;
  }

  Values add(const Rewritten& copy, Graph& graph, const Node& node, const Values& inputs) {
    const LowRankProduct* product = product_beside(node);
    if (!product) return graph.add(*node.op, inputs, node.attributes);
    // An activation comes behind both products, and what is added last behind that.
    const auto activation = static_cast<Activation>(node.integer("activation"));
    const bool plain = activation == Activation::none;
    const Value residual = inputs.size() > 3 ? inputs[3] : Value{};
    const Value frozen = matmul(graph, inputs[0], inputs[1],
                                {.transpose_b = node.flag("transpose_b"),
                                 .scale = static_cast<float>(node.number("scale")),
                                 .bias = inputs.size() > 2 ? inputs[2] : Value{},
                                 .residual = plain ? residual : Value{}});

    const int64_t columns = config_.rank * std::ssize(product->modules);
    Value x = inputs[0];
    if (seed_ && config_.dropout > 0) x = dropout(graph, x, config_.dropout, copy.of(seed_), ++stream_);
    const Value low = matmul(graph, x, graph.persistent(product->a, {columns, product->in}), {.transpose_b = true});
    const Value sums = matmul(
        graph, low, factor(graph, *product, columns),
        {.transpose_b = true, .scale = static_cast<float>(node.number("scale") * config_.scale()), .residual = frozen});
    if (plain) return {sums};
    const Value y = activate(graph, activation, sums);
    return {residual ? vkformer::add(graph, y, residual) : y, sums};
  }

 private:
  const LowRankProduct* product_beside(const Node& node) const {
    if (!is_matmul(node) || from_.info(node.inputs[1]).storage != Storage::persistent) return nullptr;
    const auto found = products_.find(from_.info(node.inputs[1]).name);
    return found == products_.end() ? nullptr : found->second;
  }

  /// B. Outside its blocks it is zero, and stays so: training multiplies its gradient by zeros there.
  Value factor(Graph& graph, const LowRankProduct& product, int64_t columns) const {
    const Shape shape{product.out, columns};
    const Value b = graph.persistent(product.b, shape);
    if (!seed_ || product.blocks.empty()) return b;
    return multiply(graph, b, graph.persistent(product.blocks, shape, Role::constant));
  }

  const Graph& from_;
  const LoraConfig& config_;
  std::map<std::string_view, const LowRankProduct*> products_;
  Value seed_;
  int64_t stream_ = first_stream;
};

}  // namespace

Graph adapted(Graph graph, const Model& model) {
  if (!model.adapter) return graph;
  Adapting adapting(graph, *model.adapter);
  return rewrite(graph, {.add = [&](Rewritten& copy, const Node& node,
                                    const Values& inputs) { return adapting.add(copy, copy.graph, node, inputs); }})
      .graph;
}

}  // namespace vkformer
