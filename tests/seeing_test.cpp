// Models that see and write against transformers (tests/huggingface/make_seeing.py).

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/chat/chat_files.h"
#include "models/chat/chat_history.h"
#include "models/chat/message_parts.h"
#include "models/seeing/stored_eyes.h"
#include "tests/seeing_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// The conversation that was recorded.
ChatHistory recorded_history(const std::filesystem::path& folder) {
  ChatHistory history;
  history.add_question("What is it?", {(folder / "first.png").generic_string()});
  history.add_answer("A hill.");
  history.add_question("And this?", {(folder / "second.jpg").generic_string()});
  return history;
}

/// The logits behind each token of the recorded conversation, in runs of at most so many positions.
void check_logits(Backend& backend, const std::string& name, int64_t run_positions) {
  INFO(name << " in runs of " << run_positions);
  const Recorded recorded(name);
  Seer seer(backend, name, {.capacity = 160, .run_positions = run_positions});
  const std::vector<int32_t> ids = seer.sight.encoded(recorded.file.metadata().at("text"), seer.both());
  CHECK(seer.sight.as_tokens(ids) == recorded.ids());
  std::vector<float> logits;
  seer.generator.visit_logits(
      ids, [&](size_t, std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
  CHECK(share_of_largest(logits, recorded.floats("logits")) < 2e-5);
}

}  // namespace

TEST_CASE("eyes see what transformers' see", "[seeing]") {
  for (const std::string name :
       {"llava", "idefics3", "llava_siglip", "gemma3", "qwen2_5_vl", "qwen3_vl", "qwen2_vl", "mistral3", "pixtral"}) {
    INFO(name);
    const Recorded recorded(name);
    const std::filesystem::path folder = seeing / name;
    const auto backend = make_reference_backend();
    PictureReader reader(*backend, make_eyes(JsonObject::load(folder / "config.json")),
                         ImageProcessor::from_folder(folder), "<image>", folder);
    for (const auto& [number, file] : {std::pair("0", "first.png"), std::pair("1", "second.jpg")}) {
      const Image image = read_image(folder / file);
      std::vector<float> pixels;
      for (const std::vector<float>& view : ImageProcessor::from_folder(folder).views(image).pixels)
        pixels.insert(pixels.end(), view.begin(), view.end());
      CHECK(share_of_largest(pixels, recorded.floats(std::string("pixels.") + number)) < 1e-7);
      const std::vector<float> states = reader.read(reader.prepared(image));
      // transformers turns Qwen's and Pixtral's queries and keys in f32.
      const bool turned = name.starts_with("qwen") || name == "mistral3" || name == "pixtral";
      const double bound = turned ? 1e-5 : 1e-6;
      CHECK(share_of_largest(states, recorded.floats(std::string("states.") + number)) < bound);
    }
  }
}

TEST_CASE("eyes are found by the names of older files, too", "[seeing]") {
  const std::filesystem::path folder = seeing / "llava";
  const auto backend = make_reference_backend();
  const auto seen_by = [&](const std::filesystem::path& weights) {
    PictureReader reader(*backend, make_eyes(JsonObject::load(folder / "config.json")),
                         ImageProcessor::from_folder(folder), "<image>", weights);
    return reader.read(reader.prepared(read_image(folder / "first.png")));
  };
  // Written under the names that transformers 4 has.
  const TemporaryFolder older;
  const Eyes eyes = make_eyes(JsonObject::load(folder / "config.json"));
  Weights(eyes.model.parameters, folder).save(older / "model.safetensors");
  CHECK(SafetensorsFile(older / "model.safetensors").find("vision_tower.vision_model.pre_layrnorm.weight") != nullptr);
  CHECK(seen_by(older.path()) == seen_by(folder));
}

TEST_CASE("eyes of any size may be stored in other types", "[seeing]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"qwen2_5_vl", "qwen3_vl", "mistral3"}) {
    INFO(name);
    const std::filesystem::path folder = seeing / name;
    const auto seen_as = [&](const std::string& dtype) {
      Eyes eyes = make_eyes(JsonObject::load(folder / "config.json"));
      store_eyes_as(eyes, folder, dtype);
      const int64_t bytes = eyes.weight_bytes();
      PictureReader reader(*backend, std::move(eyes), ImageProcessor::from_folder(folder), "<image>", folder);
      return std::pair(reader.read(reader.prepared(read_image(folder / "first.png"))), bytes);
    };
    const auto [whole, whole_bytes] = seen_as("");
    const auto [halves, half_bytes] = seen_as("f16");
    CHECK(half_bytes < whole_bytes * 2 / 3);
    CHECK(share_of_largest(halves, whole) < 5e-3);
    CHECK(share_of_largest(halves, whole) > 1e-6);
  }
}

TEST_CASE("what is written of pictures is what transformers writes", "[seeing]") {
  const auto backend = make_reference_backend();
  check_logits(*backend, "llava", 2048);
  check_logits(*backend, "llava", 16);
  check_logits(*backend, "llava_siglip", 2048);
  check_logits(*backend, "idefics3", 2048);
  check_logits(*backend, "idefics3", 16);
  check_logits(*backend, "gemma3", 2048);
  check_logits(*backend, "gemma3", 8);
  for (const char* any_size : {"qwen2_5_vl", "qwen3_vl", "qwen2_vl", "mistral3", "pixtral"}) {
    check_logits(*backend, any_size, 2048);
    check_logits(*backend, any_size, 16);  // whose pictures come in several runs
  }
}

TEST_CASE("pictures that are seen as wholes are not cut", "[seeing]") {
  const auto backend = make_reference_backend();
  Seer seer(*backend, "gemma3", {.capacity = 160});
  const std::vector<int32_t> ids = seer.sight.encoded(Recorded("gemma3").file.metadata().at("text"), seer.both());
  GenerationSession session(seer.generator);
  const std::vector<float> whole = session.begin(ids);
  session.clear();
  std::vector<float> logits;
  for (size_t run = 0; run < ids.size();) {
    run = seer.generator.cut(ids, std::min(ids.size(), run + 3), true);
    logits = session.begin(std::span(ids).first(run));
  }
  CHECK(share_of_largest(logits, whole) < 1e-5);
  const auto picture = std::ranges::find_if(ids, [&](int32_t id) { return id >= seer.model.vocabulary; }) - ids.begin();
  session.keep(static_cast<size_t>(picture) + 2);
  CHECK(share_of_largest(session.begin(ids), whole) < 1e-5);
  CHECK(session.reused() == picture);
}

TEST_CASE("what a device writes of pictures is what transformers writes", "[seeing][device][one_driver]") {
  check_logits(*make_backend(""), "llava", 2048);
  check_logits(*make_backend("", {.as_gpu = true}), "llava", 2048);
  check_logits(*make_backend(""), "idefics3", 2048);
  check_logits(*make_backend("", {.as_gpu = true}), "gemma3", 2048);
  check_logits(*make_backend(""), "qwen2_5_vl", 2048);
  check_logits(*make_backend("", {.as_gpu = true}), "qwen3_vl", 16);
  check_logits(*make_backend(""), "mistral3", 2048);
}

TEST_CASE("conversations with pictures are written as by transformers", "[seeing]") {
  const auto text = [](const ChatTemplate& of, const ChatHistory& said) {
    return of
        .render({.messages = messages_for(of, said.messages(), "<image>"),
                 .add_generation_prompt = true,
                 .variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}})
        .text;
  };
  for (const std::string name : {"llava", "idefics3", "gemma3", "qwen2_5_vl", "mistral3"})
    CHECK(text(*find_chat_template(seeing / name), recorded_history(seeing / name)) ==
          Recorded(name).file.metadata().at("text"));
  const ChatHistory history = recorded_history(seeing / "llava");
  const ChatTemplate plain("{% for m in messages %}{{ m.role }}: {{ m.content }}|{% endfor %}", "plain");
  CHECK(text(plain, history) == "user: <image>\nWhat is it?|assistant: A hill.|user: <image>\nAnd this?|");

  const TemporaryFolder folder;
  history.save(folder / "chat.json");
  const ChatHistory again = ChatHistory::load(folder / "chat.json");
  CHECK(again.messages().dump() == history.messages().dump());
  CHECK(again.pictures(0) == history.pictures(0));
  CHECK(again.pictures(1) == std::vector<std::string>{(seeing / "llava" / "second.jpg").generic_string()});
  put(folder / "wrong.json", R"([{"role": "user", "content": [{"type": "video"}]}])");
  CHECK_THAT(error_of([&] { ChatHistory::load(folder / "wrong.json"); }), ContainsSubstring("type \"video\""));
}

TEST_CASE("a cache keeps pictures apart", "[seeing]") {
  const auto backend = make_reference_backend();
  Seer seer(*backend, "llava", {.capacity = 128});
  const std::vector<SeenPictures::Shown> both = seer.both();
  const std::string text = "USER: <image>\nWhat is it? ASSISTANT:";
  const auto of = [&](size_t picture) { return seer.sight.encoded(text, std::span(&both[picture], 1)); };
  GenerationSession session(seer.generator);
  const std::vector<float> first = session.begin(of(0)), second = session.begin(of(1));
  CHECK(session.reused() == 7);  // as far as the pictures
  CHECK(share_of_largest(second, first) > 1e-3);
  CHECK(session.begin(of(1)) == second);
  CHECK(session.reused() == std::ssize(of(1)) - 1);
  CHECK(share_of_largest(session.begin(of(0)), first) < 1e-5);
  // The same bytes are the same picture, whatever their name.
  const std::string bytes = get(seer.folder / "first.png");
  CHECK(seer.sight.show(std::as_bytes(std::span(bytes)), "another name") == both[0]);
}

TEST_CASE("pictures that can't be shown are refused with one clear line", "[seeing]") {
  const auto backend = make_reference_backend();
  Seer seer(*backend, "llava", {.capacity = 64});
  const std::vector<SeenPictures::Shown> both = seer.both();
  CHECK_THAT(error_of([&] { seer.sight.encoded("<image> and <image>", std::span(both).first(1)); }),
             ContainsSubstring("the text has places for pictures: 2, shown were: 1"));
  CHECK_THAT(error_of([&] { seer.sight.show_file((seer.folder / "config.json").generic_string()); }),
             ContainsSubstring("it is no JPEG"));
  const Model text = load_model(fixtures / "llama");
  Sight blind(*backend, fixtures / "llama", text, seer.tokenizer, "");
  CHECK(!blind.there());
  CHECK_THAT(error_of([&] { blind.show_file((seer.folder / "first.png").generic_string()); }),
             ContainsSubstring("llama model has no eyes"));
  const json config = JsonObject::load(seer.folder / "config.json").value();
  const auto error = [&](const json& changes) {
    json changed = config;
    changed.merge_patch(changes);
    return error_of([&] { make_eyes(JsonObject::make(changed, "config.json")); });
  };
  CHECK(error(json::object()).empty());
  CHECK_THAT(error({{"vision_feature_layer", {-2, 1}}}), ContainsSubstring("vision_feature_layer is a list"));
  CHECK_THAT(error({{"vision_feature_layer", -5}}), ContainsSubstring("vision_feature_layer"));
  CHECK_THAT(error({{"vision_feature_select_strategy", "some"}}), ContainsSubstring("\"some\""));
  CHECK_THAT(error({{"image_token_index", 264}}), ContainsSubstring("image_token_index"));
  CHECK_THAT(error({{"vision_config", {{"model_type", "dinov2"}}}}), ContainsSubstring("\"dinov2\""));
  CHECK_THAT(error({{"vision_config", {{"model_type", "siglip_vision_model"}}}, {"vision_feature_layer", -1}}),
             ContainsSubstring("SigLIP's last states"));
  CHECK_THAT(error({{"text_config", {{"model_type", "gpt2"}}}}), ContainsSubstring("\"gpt2\""));
  const json merged = JsonObject::load(seeing / "mistral3" / "config.json").value();
  const auto pixtral_error = [&](const json& base, const json& changes) {
    json changed = base;
    changed.merge_patch(changes);
    return error_of([&] { make_eyes(JsonObject::make(changed, "config.json")); });
  };
  const auto vision = [](const json& changes) { return json{{"vision_config", changes}}; };
  CHECK(pixtral_error(merged, json::object()).empty());
  CHECK_THAT(pixtral_error(merged, vision({{"model_type", "siglip_vision_model"}})),
             ContainsSubstring("\"siglip_vision_model\""));
  CHECK_THAT(pixtral_error(merged, vision({{"num_attention_heads", 16}})), ContainsSubstring("multiples of 4"));
  CHECK_THAT(pixtral_error(merged, vision({{"rope_parameters", {{"rope_type", "yarn"}}}})),
             ContainsSubstring("\"yarn\""));
  CHECK_THAT(pixtral_error(JsonObject::load(seeing / "pixtral" / "config.json").value(),
                           {{"vision_feature_select_strategy", "default"}}),
             ContainsSubstring("of Pixtral's eyes \"full\""));
  json small = merged;
  small["vision_config"]["image_size"] = 20;
  const Eyes eyes = make_eyes(JsonObject::make(small, "config.json"));
  CHECK_THAT(error_of([&] { eyes.any_size->view(std::vector<float>(3 * 24 * 16), 24, 16); }),
             ContainsSubstring("the model takes 20 to a side"));
  json tiled = JsonObject::load(seeing / "idefics3" / "config.json").value();
  tiled["model_type"] = "smolvlm";
  CHECK(make_eyes(JsonObject::make(tiled, "config.json")).positions == 4);
  tiled["scale_factor"] = 3;
  CHECK_THAT(error_of([&] { make_eyes(JsonObject::make(tiled, "config.json")); }),
             ContainsSubstring("no whole blocks of scale_factor 3"));
}
