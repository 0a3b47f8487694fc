#include "models/seeing/picture_reader.h"

#include "models/images/patches.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

PictureReader::PictureReader(Backend& backend, Eyes eyes, const ImageProcessor& processor,
                             const std::filesystem::path& folder)
    : backend_(backend), eyes_(std::move(eyes)), processor_(processor), weights_(eyes_.model.parameters, folder) {
  const PictureShape& picture = eyes_.model.picture;
  check(processor.height() == picture.height && processor.width() == picture.width,
        "{}: its processor makes pictures of {} x {} pixels, its model takes {} x {}; copy both from one source",
        printable(folder.string()), processor.width(), processor.height(), picture.width, picture.height);
}

std::vector<float> PictureReader::prepared(const Image& image) const {
  return patches_of(processor_.pixels(image), eyes_.model.picture);
}

Program& PictureReader::program() {
  if (program_) return *program_;
  store_ = make_model_store(backend_, eyes_.model);
  Graph graph;
  const PictureShape& picture = eyes_.model.picture;
  const Pass pass{.source = graph.input("source", {1, picture.positions(), picture.columns()})};
  graph.mark_output(eyes_.model.hidden(graph, pass), "states");
  auto compiled = backend_.compile(as_stored(std::move(graph), eyes_.model, backend_.facts()), store_);
  weights_.load(*store_);
  program_ = std::move(compiled);
  return *program_;
}

std::vector<float> PictureReader::read(std::span<const float> prepared) {
  program().write("source", prepared);
  program_->run();
  std::vector<float> states = program_->read("states");
  check_results(states, states.size() / static_cast<size_t>(eyes_.positions));
  return states;
}

}  // namespace vkformer
