// GGUF files as converters first wrote them.

#include <catch2/catch_test_macros.hpp>

#include "models/gguf/architectures.h"
#include "tests/gguf_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// A fixture's GGUF file with a tensor of each layer as its folder has it, in place of two.
struct OlderForm {
  std::string fixture, architecture;
  std::string replaced, left_out;  ///< "blk.N." and these
  std::string gguf, hugging_face;  ///< what stands for both, and where the folder has it: "model.layers.N." and this
};

/// Checks that a file of that form gives the parameters that the folder does.
void check_older(const OlderForm& form) {
  INFO(form.fixture);
  const TemporaryFolder folder;
  const GgufFile newer(write_fixture(folder, form.fixture, "f32"));
  const Model model = load_model(fixtures / form.fixture);
  const SafetensorsFile weights(fixtures / form.fixture / "model.safetensors");
  GgufPairs pairs;
  pairs.add_text("general.architecture", form.architecture);
  add_config(pairs, *find_architecture(form.architecture), *model.config);
  std::vector<GgufSource> sources;
  for (const GgufTensor& tensor : newer.tensors()) {
    if (tensor.name.ends_with(form.left_out)) continue;
    sources.push_back({tensor.name, tensor.type, tensor.shape, [&tensor] { return tensor.bytes; }});
    if (!tensor.name.ends_with(form.replaced)) continue;
    const int64_t layer = layer_in_name(tensor.name);
    const TensorEntry& whole = weights.require(fmt::format("model.layers.{}.{}", layer, form.hugging_face));
    sources.back() = {fmt::format("blk.{}.{}", layer, form.gguf), tensor.type, whole.shape,
                      [bytes = whole.bytes] { return bytes; }};
  }
  const auto file = folder / "older.gguf";
  write_gguf(file, pairs, sources);
  const Model read = load_model(file);
  const Weights older(read.parameters, file), ours(model.parameters, fixtures / form.fixture),
      theirs(model.parameters, folder / (form.fixture + ".f32.gguf"));
  CHECK(older.extra().empty());
  for (const ParameterSpec& parameter : model.parameters) {
    INFO(parameter.name);
    const bool of_the_form = parameter.stack && parameter.stack->tensor.ends_with(form.hugging_face);
    CHECK(older.read(parameter.name) == (of_the_form ? ours : theirs).read(parameter.name));
  }
}

}  // namespace

TEST_CASE("experts of Mixtral's first files are a tensor each", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile joint(write_fixture(folder, "mixtral", "f32"));
  const Model model = load_model(fixtures / "mixtral");
  GgufPairs pairs;
  pairs.add_text("general.architecture", "llama");
  add_config(pairs, *find_architecture("llama"), *model.config);
  std::vector<GgufSource> sources;
  for (const GgufTensor& tensor : joint.tensors()) {
    const size_t end = tensor.name.find("_exps.weight");
    const size_t parts = end == tensor.name.npos ? 1 : static_cast<size_t>(tensor.shape[0]);
    for (size_t part = 0; part < parts; ++part) {
      GgufSource& source =
          sources.emplace_back(GgufSource{.name = tensor.name, .type = tensor.type, .shape = tensor.shape});
      if (parts > 1) {
        source.name = fmt::format("{}.{}.weight", tensor.name.substr(0, end), part);
        source.shape.erase(source.shape.begin());
      }
      const size_t bytes = tensor.bytes.size() / parts;
      source.data = [=, all = tensor.bytes] { return all.subspan(part * bytes, bytes); };
    }
  }
  const auto file = folder / "apart.gguf";
  write_gguf(file, pairs, sources);
  const Model read = load_model(file);
  CHECK(read.family == "mixtral");
  const Weights apart(read.parameters, file), ours(model.parameters, fixtures / "mixtral");
  CHECK(apart.extra().empty());
  for (const ParameterSpec& parameter : model.parameters) {
    INFO(parameter.name);
    CHECK(apart.read(parameter.name) == ours.read(parameter.name));
  }
}

TEST_CASE("older files have the matrices of latent attention's heads in one tensor", "[gguf]") {
  check_older({.fixture = "deepseek_v2",
               .architecture = "deepseek2",
               .replaced = "attn_k_b.weight",
               .left_out = "attn_v_b.weight",
               .gguf = "attn_kv_b.weight",
               .hugging_face = "self_attn.kv_b_proj.weight"});
}

TEST_CASE("older files have all that goes into a delta net of Qwen3-Next in one tensor", "[gguf]") {
  check_older({.fixture = "qwen3_next",
               .architecture = "qwen3next",
               .replaced = "attn_qkv.weight",
               .left_out = "attn_gate.weight",
               .gguf = "ssm_in.weight",
               .hugging_face = "linear_attn.in_proj_qkvz.weight"});
}
