#include "models/families/xlnet/xlnet_parameters.h"

#include "models/families/layers.h"

namespace vkformer::xlnet {

std::string layer_name(int64_t layer) { return fmt::format("transformer.layer.{}", layer); }

std::vector<ParameterSpec> parameters_of(const XlnetConfig& c) {
  using Training = ParameterSpec::Training;
  const int64_t C = c.width, H = c.heads, D = c.head_width();
  ParameterList list(c.deviation);
  list.normal(mask_name, {1, 1, C});
  list.last().training = Training::reached;  // by the query stream
  list.normal(tokens_name, {c.vocabulary, C});
  if (c.tied && c.head == XlnetConfig::Head::language_model) list.last().other_names = {"lm_loss.weight"};
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string name = layer_name(i), attention = name + ".rel_attn";
    for (const char* part : {".q", ".k", ".v", ".o", ".r"}) list.normal(attention + part, {C, H, D});
    for (const char* part : {".r_w_bias", ".r_r_bias"}) list.normal(attention + part, {H, D});
    list.normal(attention + ".r_s_bias", {H, D});
    list.last().training = Training::reached;  // where there are segments
    list.normal(attention + ".seg_embed", {2, H, D});
    list.last().training = Training::reached;
    list.layer_norm(attention + ".layer_norm", C);
    list.linear(name + ".ff.layer_1", C, c.inner);
    list.linear(name + ".ff.layer_2", c.inner, C);
    list.layer_norm(name + ".ff.layer_norm", C);
  }
  if (c.head == XlnetConfig::Head::classifier) {
    if (c.summary_project) list.linear("sequence_summary.summary", C, C);
    list.linear("logits_proj", C, static_cast<int64_t>(c.classes.size()));
  } else {
    if (!c.tied) list.normal("lm_loss.weight", {c.vocabulary, C});
    list.zeros("lm_loss.bias", {c.vocabulary});
  }
  return list.take();
}

}  // namespace vkformer::xlnet
