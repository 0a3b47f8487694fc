#include "models/seeing/eyes_export.h"

#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/gguf/gguf_eyes.h"
#include "models/gguf/gguf_eyes_export.h"
#include "models/model_files.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

Eyes eyes_in(const std::filesystem::path& folder) {
  check(!is_gguf(folder), "{}: a GGUF file has no eyes to be written as another; give the folder of a model that sees",
        printable(folder.generic_string()));
  return make_eyes(load_model_json(folder, "config.json"));
}

}  // namespace

EyesExport::EyesExport(const std::filesystem::path& folder)
    : folder_(folder),
      eyes_(eyes_in(folder)),
      text_(make_model(load_model_json(folder, "config.json"))),
      weights_(eyes_.model.parameters, folder),
      text_weights_(text_.parameters, folder),
      pictures_(ImageProcessor::from_folder(folder).settings()) {
  weights_.share_with(text_weights_);
}

/// The embedding of the token behind a row of positions; empty where there is none.
std::vector<float> EyesExport::row_end() const {
  if (!eyes_.any_size || eyes_.any_size->row_end.empty()) return {};
  const std::string& token = eyes_.any_size->row_end;
  const auto id = PromptText(folder_).id_of(token);
  check(id && *id < text_.vocabulary, "{}: its tokenizer has no {}, which stands behind a row of a picture",
        printable(folder_.generic_string()), token);
  const std::vector<float> all = text_weights_.read("model.embed_tokens.weight");
  const int64_t columns = width_of(text_);
  return {all.begin() + *id * columns, all.begin() + (*id + 1) * columns};
}

EyesExport::Losses EyesExport::write(const std::filesystem::path& file, DType dtype,
                                     const LoadProgress& progress) const {
  const EyesToWrite what{.eyes = eyes_.model,
                         .pictures = pictures_,
                         .text_width = width_of(text_),
                         .name = folder_.filename().generic_string(),
                         .row_end = row_end()};
  Losses losses{.fallbacks = write_eyes_as_gguf(file, what, weights_, dtype, progress)};
  const JsonObject processor = JsonObject::make(gguf_eyes_processor(GgufShards(file)), file.generic_string());
  losses.pictures = ImageProcessor::from_json(processor).settings() != pictures_;
  return losses;
}

}  // namespace vkformer
