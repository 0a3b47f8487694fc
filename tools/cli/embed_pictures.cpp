// `vkformer embed` of pictures: a vector for each file, or the files nearest to a text or to a picture.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/relevance.h"
#include "models/embedding/embedder.h"
#include "models/families/vision/two_towers.h"
#include "runtime/check.h"
#include "tools/cli/embedding_lines.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/picture_input.h"
#include "tools/cli/profile.h"
#include "tools/cli/text_vectors.h"

namespace vkformer {

namespace {

void print_nearest(const EmbedFlags& flags, const Embeddings& embeddings, const std::vector<float>& query) {
  std::vector<double> cosines;
  for (size_t i = 0; i < flags.pictures.size(); ++i) cosines.push_back(similarity(embeddings[i], query));
  std::vector<size_t> order = descending(cosines);
  order.resize(std::min(static_cast<size_t>(flags.top), order.size()));
  for (const size_t i : order)
    if (flags.common.json)
      print("{}\n", nlohmann::json{{"file", flags.pictures[i]}, {"cosine", cosines[i]}}.dump());
    else
      print("{:.4f}\t{}\n", cosines[i], flags.pictures[i]);
}

}  // namespace

void embed_pictures(const EmbedFlags& flags, const std::filesystem::path& folder) {
  for (const auto& [given, flag] : {std::pair(flags.text.has_value(), "-p"),
                                    {!flags.pooling.empty(), "--pooling"},
                                    {flags.prefix.has_value(), "--prefix"},
                                    {flags.query_prefix.has_value(), "--query-prefix"}})
    if (given) throw UsageError(fmt::format("{} is for texts; pictures were given", flag));
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_see(folder, flags.dtype, adapter.get());
  const ImageProcessor processor = picture_processor(model, folder, flags.model);
  const bool towers = has_two_towers(model);
  const Model seeing = towers ? picture_tower(model) : model, reading = towers ? text_tower(model) : Model();
  std::vector<std::string> files = flags.pictures;
  // What only sees is asked by a picture.
  if (flags.query && !towers) files.push_back(*flags.query);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  const auto store = load_store(*backend, model, weights, flags.common.quiet, adapter.get());
  const auto workspace = backend->make_workspace();
  Embeddings embeddings(files.size());
  if (flags.query && towers)
    embeddings.push_back(text_vectors(*backend, reading, folder, store, workspace, {*flags.query}).front());
  PictureLogits logits(*backend, seeing, store, workspace);
  TextsProgress progress("pictures", flags.common.quiet);
  const bool at_once = !flags.query && flags.out.empty();
  see_files(logits, seeing, processor, files, flags.batch_tokens, progress,
            [&](size_t file, const std::vector<float>& row) {
              embeddings[file] = of_length_one(row);
              if (!at_once) return;
              progress.clear();
              print_embedding("file", files[file], embeddings[file], flags.common.json);
              embeddings[file].clear();
            });
  if (flags.query) print_nearest(flags, embeddings, embeddings.back());
  if (!flags.out.empty()) write_embeddings(flags.out, embeddings);
  report_profile(*backend, flags.common, logits.programs());
  progress.end(files.size(), "picture");
}

}  // namespace vkformer
