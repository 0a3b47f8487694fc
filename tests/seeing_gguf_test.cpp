// Models that see as two GGUF files, of what writes and of the eyes, made of the recorded folders.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/gguf/gguf_export.h"
#include "models/model_folder.h"
#include "models/seeing/eyes_export.h"
#include "tests/gguf_helpers.h"
#include "tests/seeing_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

void write_text(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const Model model = load_model(folder);
  write_model_as_gguf(file, model, Weights(model.parameters, folder), folder, Mixture("f32"));
}

/// A copy of a recorded model with another config.
void copy_with(const std::filesystem::path& to, const std::string& name, const json& changes) {
  std::filesystem::copy(seeing / name, to);
  json config = JsonObject::load(to / "config.json").value();
  config.merge_patch(changes);
  std::filesystem::remove(to / "config.json");
  put(to / "config.json", config.dump());
}

/// The same with another name for a token.
void copy_renaming(const std::filesystem::path& to, const std::string& name, const std::string& token,
                   const std::string& other) {
  copy_with(to, name, json::object());
  std::string tokenizer = get(to / "tokenizer.json");
  for (size_t at = 0; (at = tokenizer.find(token, at)) != tokenizer.npos; at += other.size())
    tokenizer.replace(at, token.size(), other);
  put(to / "tokenizer.json", tokenizer);
}

/// Logits of the recorded conversation.
std::vector<float> logits_of(Seer& seer, const Recorded& recorded) {
  const std::vector<int32_t> ids = seer.sight.encoded(recorded.file.metadata().at("text"), seer.both());
  CHECK(seer.sight.as_tokens(ids) == recorded.ids());
  std::vector<float> logits;
  seer.generator.visit_logits(
      ids, [&](size_t, std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
  return logits;
}

}  // namespace

TEST_CASE("models that see come back from two GGUF files", "[seeing][gguf]") {
  const auto backend = make_reference_backend();
  for (const std::string name :
       {"llava", "llava_siglip", "idefics3", "gemma3", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mistral3"}) {
    INFO(name);
    const TemporaryFolder files;
    // As in released files of Gemma 3.
    copy_renaming(files / "model", name, name == "gemma3" ? "<image>" : "none", "<image_soft_token>");
    write_text(files / "text.gguf", files / "model");
    const EyesExport::Losses losses = EyesExport(seeing / name).write(files / "mmproj.gguf", DType::f32);
    CHECK(!losses.pictures);
    Seer seer(*backend, name, {.capacity = 160}, files / "text.gguf", files / "mmproj.gguf");
    seer.sight.need();
    const Recorded recorded(name);
    CHECK(share_of_largest(logits_of(seer, recorded), recorded.floats("logits")) < 2e-5);
  }
}

TEST_CASE("eyes in smaller types see nearly the same", "[seeing][gguf]") {
  const auto backend = make_reference_backend();
  const TemporaryFolder files;
  const Recorded recorded("gemma3");
  const EyesExport eyes(seeing / "gemma3");
  copy_renaming(files / "model", "gemma3", "<image>", "<image_soft_token>");
  write_text(files / "text.gguf", files / "model");
  for (const auto& [dtype, matrix, projection, bound] : {std::tuple(DType::f16, "F16", "F16", 1e-2),
                                                         {DType::bf16, "BF16", "F16", 5e-2},
                                                         {DType::q8_0, "Q8_0", "F16", 1e-1}}) {
    INFO(name_of(dtype));
    const std::filesystem::path file = files / (std::string(name_of(dtype)) + ".gguf");
    eyes.write(file, dtype);
    const GgufShards shards(file);
    const auto type = [&](const char* tensor) { return shards.find(tensor)->entry->type->name; };
    CHECK(type("v.blk.0.attn_q.weight") == matrix);
    CHECK(type("mm.input_projection.weight") == projection);  // which llama.cpp transposes
    CHECK(type("v.position_embd.weight") == "F32");
    CHECK(type("v.patch_embd.weight") == (dtype == DType::f16 ? "F16" : "F32"));
    CHECK(type("v.blk.0.ffn_down.weight") == (dtype == DType::q8_0 ? "F16" : matrix));  // rows of 40
    Seer seer(*backend, "gemma3", {.capacity = 160}, files / "text.gguf", file);
    const double off = share_of_largest(logits_of(seer, recorded), recorded.floats("logits"));
    CHECK(off < bound);
    CHECK(off > 1e-6);
  }
}

namespace {

/// The settings that llama.cpp's first converter wrote of the recorded LLaVA's eyes, with changes.
GgufPairs older_pairs(const std::string& projector = "mlp", int64_t width = 32, bool sees = true) {
  GgufPairs pairs;
  pairs.add_text("general.architecture", "clip");
  pairs.add_boolean("clip.has_text_encoder", false);
  pairs.add_boolean("clip.has_vision_encoder", sees);
  pairs.add_boolean("clip.has_llava_projector", true);
  pairs.add_text("clip.projector_type", projector);
  for (const auto& [key, value] : {std::pair("image_size", 20),
                                   {"patch_size", 5},
                                   {"feed_forward_length", 40},
                                   {"projection_dim", 512},
                                   {"attention.head_count", 2},
                                   {"block_count", 2}})
    pairs.add_integer("clip.vision." + std::string(key), static_cast<uint32_t>(value));
  pairs.add_integer("clip.vision.embedding_length", static_cast<uint32_t>(width));
  pairs.add_number("clip.vision.attention.layer_norm_epsilon", 1e-5f);
  pairs.add_numbers("clip.vision.image_mean", std::array{0.48145466f, 0.4578275f, 0.40821073f});
  pairs.add_numbers("clip.vision.image_std", std::array{0.26862954f, 0.26130258f, 0.27577711f});
  return pairs;
}

/// A file with the tensors of another, both layers of feed-forward parts under each other's name.
void write_older(const std::filesystem::path& file, const GgufPairs& pairs, const GgufFile& eyes) {
  std::vector<GgufSource> sources;
  for (const GgufTensor& tensor : eyes.tensors()) {
    std::string name = tensor.name;
    for (const auto& [now, then] : {std::pair("ffn_up", "ffn_down"), {"ffn_down", "ffn_up"}})
      if (const size_t at = name.find(now); at != name.npos) {
        name.replace(at, std::string_view(now).size(), then);
        break;
      }
    sources.push_back({name, tensor.type, tensor.shape, [&tensor] { return tensor.bytes; }});
  }
  write_gguf(file, pairs, sources);
}

}  // namespace

TEST_CASE("eyes of llama.cpp's first converter are read", "[seeing][gguf]") {
  const auto backend = make_reference_backend();
  const TemporaryFolder files;
  const Recorded recorded("llava");
  write_text(files / "text.gguf", seeing / "llava");
  EyesExport(seeing / "llava").write(files / "new.gguf", DType::f32);
  const GgufFile eyes(files / "new.gguf");
  write_older(files / "mmproj.gguf", older_pairs(), eyes);
  Seer seer(*backend, "llava", {.capacity = 160}, files / "text.gguf", files / "mmproj.gguf");
  seer.sight.need();
  CHECK(share_of_largest(logits_of(seer, recorded), recorded.floats("logits")) < 2e-5);
}

TEST_CASE("texts without a token for pictures have them between their words", "[seeing][gguf]") {
  const auto backend = make_reference_backend();
  const TemporaryFolder files;
  copy_renaming(files / "model", "llava", "<image>", "<other>");
  write_text(files / "text.gguf", files / "model");
  EyesExport(seeing / "llava").write(files / "mmproj.gguf", DType::f32);
  Seer seer(*backend, "llava", {.capacity = 160}, files / "text.gguf", files / "mmproj.gguf");
  CHECK(seer.sight.mark() == "<image>");
  const Recorded recorded("llava");
  const std::string text = recorded.file.metadata().at("text");
  const std::vector<int32_t> ids = seer.sight.encoded(text, seer.both());
  std::vector<int32_t> expected = recorded.ids();
  std::ranges::replace(expected, 3, 0);
  CHECK(seer.sight.as_tokens(ids) == expected);
  CHECK_THAT(error_of([&] { seer.sight.encoded(text + " \xEF\xBF\xBC", seer.both()); }),
             ContainsSubstring("which stands for pictures; leave it out"));
}

TEST_CASE("GGUF files of eyes that can't be used are refused with one clear line", "[seeing][gguf]") {
  const TemporaryFolder files;
  write_text(files / "text.gguf", seeing / "llava");
  write_text(files / "gemma.gguf", seeing / "gemma3");
  EyesExport(seeing / "llava").write(files / "eyes.gguf", DType::f32);
  EyesExport(seeing / "qwen2_vl").write(files / "qwen.gguf", DType::f32);
  const GgufFile eyes(files / "eyes.gguf");
  const auto error_with = [&](const std::filesystem::path& text, const std::filesystem::path& mmproj) {
    const auto backend = make_reference_backend();
    const Model model = load_model(text);
    const PromptText tokenizer(text);
    return error_of([&] { Sight(*backend, text, model, tokenizer, "", mmproj).need(); });
  };
  const auto error_of_pairs = [&](const GgufPairs& pairs) {
    write_older(files / "changed.gguf", pairs, eyes);
    return error_with(files / "text.gguf", files / "changed.gguf");
  };
  CHECK(error_of_pairs(older_pairs()).empty());
  CHECK_THAT(error_of_pairs(older_pairs("resampler")),
             ContainsSubstring("changed.gguf: its eyes are of the kind \"resampler\"") &&
                 ContainsSubstring("qwen2.5vl_merger"));
  CHECK_THAT(error_of_pairs(older_pairs("mlp", 32, false)), ContainsSubstring("nothing that sees pictures"));
  CHECK_THAT(error_of_pairs(older_pairs("mlp", 64)), ContainsSubstring("v.patch_embd") || ContainsSubstring("shape"));
  GgufPairs tiled = older_pairs();
  tiled.add_integers("clip.vision.image_grid_pinpoints", std::array{20, 40});
  CHECK_THAT(error_of_pairs(tiled), ContainsSubstring("LLaVA-NeXT"));
  GgufPairs several = older_pairs();
  several.add_integers("clip.vision.feature_layer", std::array{1, 2});
  CHECK_THAT(error_of_pairs(several), ContainsSubstring("states of one layer alone"));
  CHECK_THAT(error_with(files / "text.gguf", ""), ContainsSubstring("text.gguf: it has no eyes"));
  CHECK_THAT(error_with(files / "text.gguf", files / "gemma.gguf"),
             ContainsSubstring("gemma.gguf: its architecture is \"gemma3\", so it has no eyes"));
  CHECK_THAT(error_with(files / "text.gguf", files / "qwen.gguf"), ContainsSubstring("mrope_section"));
  CHECK_THAT(error_with(seeing / "llava", files / "eyes.gguf"), ContainsSubstring("leave --mmproj out"));
  CHECK_THAT(error_of([&] { load_model(files / "eyes.gguf"); }), ContainsSubstring("the eyes of a model alone"));
}

TEST_CASE("what a GGUF file of eyes can't say is refused when it is written", "[seeing][gguf]") {
  const TemporaryFolder files;
  int count = 0;
  const auto error = [&](const std::string& name, const json& changes) {
    const std::filesystem::path folder = files / std::to_string(++count);
    copy_with(folder, name, changes);
    return error_of([&] { EyesExport(folder).write(files / "eyes.gguf", DType::f32); });
  };
  CHECK_THAT(error("pixtral", json::object()), ContainsSubstring("can't say \"rope_theta\" 50.0"));
  CHECK(!std::filesystem::exists(files / "eyes.gguf"));
  CHECK(error("pixtral", {{"vision_config", {{"rope_parameters", {{"rope_theta", 10000.0}}}}}}).empty());
  CHECK_THAT(error("llava", {{"vision_feature_select_strategy", "full"}}), ContainsSubstring("\"full\""));
  CHECK_THAT(error("llava", {{"projector_hidden_act", "relu"}}), ContainsSubstring("projector_hidden_act"));
  CHECK_THAT(error("qwen2_5_vl", {{"vision_config", {{"fullatt_block_indexes", {0}}}}}),
             ContainsSubstring("fullatt_block_indexes"));
  const std::filesystem::path folder = files / "prepared";
  copy_with(folder, "gemma3", json::object());
  json processor = JsonObject::load(folder / "processor_config.json").value();
  processor["image_processor"]["resample"] = 3;
  put(folder / "processor_config.json", processor.dump());
  CHECK(EyesExport(folder).write(files / "prepared.gguf", DType::f32).pictures);
}

TEST_CASE("a folder with a model's GGUF files is a model that sees", "[seeing][gguf]") {
  const TemporaryFolder files;
  for (const char* name : {"model-q8.gguf", "mmproj-model-f16.gguf"}) put(files / name, "");
  const std::filesystem::path model = resolve_model_folder(files.path());
  CHECK(model == files / "model-q8.gguf");
  CHECK(resolve_mmproj("", files.path(), model) == files / "mmproj-model-f16.gguf");
  CHECK(resolve_mmproj("other.gguf", files.path(), model) == "other.gguf");
  CHECK(resolve_mmproj("", model, model).empty());  // who names one file means one
  put(files / "mmproj-model-f32.gguf", "");
  CHECK(resolve_mmproj("", files.path(), resolve_model_folder(files.path())).empty());
}

TEST_CASE("texts of Qwen's models that see have architectures of their own", "[seeing][gguf]") {
  const TemporaryFolder files;
  using Numbers = std::vector<int64_t>;
  for (const auto& [name, architecture, sections] :
       {std::tuple("qwen2_vl", "qwen2vl", Numbers{2, 2, 2, 0}), {"qwen3_vl", "qwen3vl", Numbers{4, 2, 2, 0}}}) {
    INFO(name);
    const std::filesystem::path file = files / (std::string(name) + ".gguf");
    write_text(file, seeing / name);
    const GgufShards shards(file);
    const GgufMetadata& metadata = shards.metadata();
    CHECK(metadata.text("general.architecture") == architecture);
    const std::string prefix = architecture + std::string(".");
    CHECK(metadata.integers(prefix + "rope.dimension_sections", 0, 99) == sections);
    CHECK(metadata.integer_or(prefix + "n_deepstack_layers", 0, 0, 99) == (sections[0] == 4 ? 2 : 0));
    CHECK(load_model(file).config->at("rope_parameters") == load_model(seeing / name).config->at("rope_parameters"));
    // From that file another one like it.
    const Model again = load_model(file);
    write_model_as_gguf(files / "again.gguf", again, Weights(again.parameters, file), file, Mixture("f32"));
    CHECK(GgufShards(files / "again.gguf").metadata().integers(prefix + "rope.dimension_sections", 0, 99) == sections);
  }
  GgufPairs pairs;
  pairs.add_text("general.architecture", "qwen2vl");
  for (const char* key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"})
    pairs.add_integer(std::string("qwen2vl.") + key, 24);
  pairs.add_number("qwen2vl.attention.layer_norm_rms_epsilon", 1e-6f);
  pairs.add_integers("qwen2vl.rope.dimension_sections", std::array{1, 1, 1, 1});
  const GgufFile tensors(files / "qwen2_vl.gguf");
  CHECK_THAT(error_of([&] { config_with(files, pairs, tensors); }),
             ContainsSubstring("qwen2vl.rope.dimension_sections must be three numbers of pairs and a 0"));
}
