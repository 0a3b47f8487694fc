#include "models/text/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include "runtime/files/atomic_file.h"

namespace vkformer {

void write_tokenizer_files(const std::filesystem::path& folder, std::string_view tokenizer,
                           const nlohmann::ordered_json& settings) {
  write_file_atomically(folder / "tokenizer.json", tokenizer);
  // Without the second setting, older releases of transformers remove blanks before punctuation when they decode.
  nlohmann::ordered_json all = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                {"clean_up_tokenization_spaces", false}};
  all.update(settings);
  write_file_atomically(folder / "tokenizer_config.json", all.dump(2) + '\n');
}

}  // namespace vkformer
