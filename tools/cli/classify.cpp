// `vkformer classify`: a label for each line.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/classifier.h"
#include "models/families/config_keys.h"
#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_argument.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

void print_classes(const std::string& line, const std::vector<double>& probabilities,
                   const std::vector<std::string>& names, bool as_json) {
  const auto best = static_cast<size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  if (!as_json) return print("{}\t{:.4f}\n", printable(names[best]), probabilities[best]);
  nlohmann::json json = {{"text", line}, {"label", names[best]}, {"probability", probabilities[best]}};
  for (size_t i = 0; i < names.size(); ++i) json["probabilities"][names[i]] = probabilities[i];
  print("{}\n", json.dump());
}

}  // namespace

void classify(const TextsFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  Model model = load_model(folder);
  check(classifies(model), "{} is a {} model that gives no class of a text; train one with --labels", flags.model,
        model.family);
  const std::vector<std::string> names = classes_of(load_model_json(folder, "config.json"), 1);
  const Tokenizer tokenizer = TokenizerFiles::load(folder).tokenizer();
  const std::vector<std::string> lines = lines_argument(flags.text);
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  TokenTexts texts;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const size_t tab = line.find('\t');
    check(tab == line.rfind('\t'), "line {} has more than one tab; one stands between the two texts of a pair", i + 1);
    const auto second = tab == line.npos ? std::nullopt : std::optional(line.substr(tab + 1));
    texts.add(tokenizer, line.substr(0, tab), second, most, fmt::format("line {}", i + 1));
  }
  const TextInputs inputs = text_inputs(model, texts.largest_segment());
  store_weights_as(model, folder, flags.dtype);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Classifier classifier(*backend, model, load_store(*backend, model, weights, flags.common.quiet),
                        backend->make_workspace());
  TextsProgress progress(std::ssize(lines), "lines", flags.common.quiet);
  std::vector<std::vector<double>> results(lines.size());
  classify_by_length(classifier, texts, inputs, flags.batch_tokens,
                     [&](size_t text, const std::vector<double>& probabilities) {
                       results[text] = probabilities;
                       progress.add();
                     });
  progress.clear();
  for (size_t i = 0; i < lines.size(); ++i) print_classes(lines[i], results[i], names, flags.common.json);
  report_profile(*backend, flags.common, classifier.logits().programs());
  progress.end(lines.size(), "line", texts.cut > 0 ? fmt::format("; {} cut at {} tokens", texts.cut, most) : "");
}

}  // namespace vkformer
