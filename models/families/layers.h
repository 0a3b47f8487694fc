#pragma once
// The layers that families are made of, under the names their files give the tensors. A family's builder is short: it
// says which layer follows which.

#include "models/model.h"
#include "shaders/attention/attention.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/rms_norm/rms_norm.h"

namespace vkformer {

/// Where the keys and values of an attention lie.
struct KeysValues {
  HeadColumns k, v;
  bool cached = false;  ///< at the positions of the pass's cache, from its first one on; else they are the pass's own
};

struct LinearOptions {
  bool bias = true;
  bool input_major = false;  ///< the weight is stored [in, out], as GPT-2's Conv1D and XLNet do, not [out, in]
  Activation activation = Activation::none;
  double scale = 1;     ///< of the result
  double dropout = 0;   ///< of the result, when the pass draws
  Value residual = {};  ///< added last
};

/// "OUTER.INNER"; without an inner one OUTER.
std::string join_names(std::string_view outer, std::string_view inner);

/// The pass that an encoder sees: its source as ids, with the source's mask, and no cache.
Pass encoder_pass(const Pass& pass);

/// What Layers::see_both_ways() reads, of one reach for all layers of a model.
ConstantSpec reach_constant(int64_t reach);

/// Adds layers to the graph of one pass. Dropout draws count up from `first_stream`: two instances in one graph need
/// ranges of their own.
class Layers {
 public:
  Layers(Graph& graph, const Pass& pass, int64_t first_stream = 0)
      : graph_(graph), pass_(pass), streams_(first_stream) {}

  Graph& graph() { return graph_; }
  const Pass& pass() const { return pass_; }
  int64_t columns(Value x) const { return graph_.shape(x).columns(); }
  /// A parameter of the model.
  Value tensor(const std::string& name, const Shape& shape) { return graph_.persistent(name, shape); }
  /// One of the model's constants.
  Value constant(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    return graph_.persistent(name, shape, Role::constant, dtype);
  }

  /// dropout(scale * activation(x W + b)) + residual, W from NAME.weight, b [out] from NAME.bias.
  Value linear(Value x, const std::string& name, int64_t out, const LinearOptions& options = {});
  /// With NAME.weight and, where there is one, NAME.bias [C].
  Value layer_norm(Value x, const std::string& name, double epsilon, bool bias = true);
  /// With NAME.weight [C]; `gain_offset`: see shaders/rms_norm.
  Value rms_norm(Value x, const std::string& name, double epsilon, double gain_offset = 0);
  /// The same, plus the residual, times the scale.
  Value rms_norm_sum(Value x, const std::string& name, double epsilon, double gain_offset, const NormedSum& sum);
  /// The row of each text's last position, of those that the pass's mask shows: [B, C] of x [B, T, C].
  Value last_rows(Value x);
  /// [rows, H * D], of any number of dimensions -> [H, rows, D].
  Value heads_first(Value x, int64_t heads);
  /// x itself when the pass draws nothing; plus the residual, if there is one.
  Value drop(Value x, double probability, Value residual = {});

  /// Attention of a sequence to itself: over the pass's cache when it has one, else over the T positions, with the
  /// pass's mask. `cache` names the cache; k and v lie side by side in one tensor, or in two, or v in the first columns
  /// of k. Sets mask and dropout of `options` and, with a cache, position.
  Value self_attention(HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options, double dropout,
                       const std::string& cache) {
    return attend(q, in_cache({k, v}, options, cache), options, dropout);
  }
  /// Its two halves, for layers that see the keys and values of another, or make them of what is cached: these as the
  /// pass has them, with its cache where it has one, and the attention to them.
  KeysValues in_cache(KeysValues own, const AttentionOptions& options, const std::string& cache);
  Value attend(HeadColumns q, const KeysValues& seen, AttentionOptions options, double dropout);
  /// Lets each position see those at most `reach` away on either side; the model has reach_constant(reach).
  void see_both_ways(AttentionOptions& options, int64_t reach);
  /// Attention of the decoder's q [B, T, H * D] to k and v [sources, S, ..] of the encoder's output, with the pass's
  /// source mask. Rows of one source attend together.
  Value cross_attention(Value q, Value k, Value v, AttentionOptions options, double dropout);
  /// What `project` makes of the encoder's output; in a pass without memory what remember() left under NAME.
  Value remembered(const std::string& name, int64_t columns, const std::function<Value(Value memory)>& project);
  /// Writes it there.
  void remember(const std::string& name, Value projected);

 private:
  Value mask(Value keys, int64_t count);
  void set_dropout(AttentionOptions& options, double probability);

  Graph& graph_;
  Pass pass_;
  int64_t streams_;
};

/// Appends the parameters that layers read, under the same names.
class ParameterList {
 public:
  explicit ParameterList(double deviation) : deviation_(deviation) {}

  /// NAME, normally distributed; `deviation` 0: the list's.
  void normal(const std::string& name, const Shape& shape, double deviation = 0) {
    list_.push_back({name, shape, ParameterSpec::Start::normal, deviation > 0 ? deviation : deviation_});
  }
  void zeros(const std::string& name, const Shape& shape) {
    list_.push_back({name, shape, ParameterSpec::Start::zeros});
  }
  void ones(const std::string& name, const Shape& shape) { list_.push_back({name, shape, ParameterSpec::Start::ones}); }
  void constant(const std::string& name, const Shape& shape, double value) {
    list_.push_back({name, shape, ParameterSpec::Start::constant, value});
  }
  /// NAME.weight [out, in], and NAME.bias [out] where there is one.
  void linear(const std::string& name, int64_t in, int64_t out, bool bias = true, double deviation = 0) {
    normal(name + ".weight", {out, in}, deviation);
    if (bias) zeros(name + ".bias", {out});
  }
  /// Linear layers NAME.PART [out, in] of one input, of which graphs make one under the name `joint`.
  void joint_linear(const std::string& name, std::string_view joint,
                    std::initializer_list<std::pair<std::string_view, int64_t>> parts, int64_t in, bool bias = true,
                    double deviation = 0) {
    for (const auto& [part, out] : parts) {
      linear(join_names(name, part), in, out, bias, deviation);
      if (bias) list_.back().joint = join_names(name, joint) + ".bias";
      list_[list_.size() - (bias ? 2 : 1)].joint = join_names(name, joint) + ".weight";
    }
  }
  void layer_norm(const std::string& name, int64_t columns, bool bias = true) {
    rms_norm(name, columns);
    if (bias) zeros(name + ".bias", {columns});
  }
  void rms_norm(const std::string& name, int64_t columns) { ones(name + ".weight", {columns}); }
  /// The last one appended, to change what is special about it.
  ParameterSpec& last() { return list_.back(); }
  std::vector<ParameterSpec> take() { return std::move(list_); }

 private:
  double deviation_;
  std::vector<ParameterSpec> list_;
};

/// The activation that a config calls `name` ("gelu_new", "swish", ..). Throws Error naming file and key.
Activation activation_of(const JsonObject& config, const char* key, const std::string& fallback);
/// The same of a gate.
Gate gate_of(const JsonObject& config, const char* key, const std::string& fallback);
/// The name that Hugging Face gives it.
std::string_view name_of(Activation activation);

}  // namespace vkformer
