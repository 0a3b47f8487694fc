#include "models/seeing/eye_files.h"

#include <nlohmann/json.hpp>

#include "models/gguf/gguf_eyes.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

EyeFiles eye_files(const std::filesystem::path& model, const std::filesystem::path& mmproj, const PromptText& tokenizer,
                   int64_t vocabulary) {
  if (!is_gguf(model)) {
    check(mmproj.empty(), "{}: it is no .gguf, so its eyes are in the folder; leave --mmproj out",
          printable(model.generic_string()));
    Eyes eyes = make_eyes(load_model_json(model, "config.json"));
    return {std::move(eyes), ImageProcessor::from_folder(model), model};
  }
  check(!mmproj.empty(), "{}: it has no eyes; if there is an mmproj file for it, give that by --mmproj",
        printable(model.generic_string()));
  const GgufShards eyes(mmproj);
  const std::string token(gguf_eyes_token(eyes));
  const auto id = tokenizer.id_of(token);
  const bool spelled = id && *id < vocabulary && tokenizer.encode_as_it_is(token) == std::vector{*id};
  const auto made = [&](nlohmann::json value) { return JsonObject::make(std::move(value), eyes.name()); };
  const nlohmann::json text = load_model_json(model, "config.json").value();
  return {make_eyes(made(gguf_eyes_config(eyes, text, spelled ? *id : 0))),
          ImageProcessor::from_json(made(gguf_eyes_processor(eyes))), mmproj, spelled ? "" : token};
}

}  // namespace vkformer
