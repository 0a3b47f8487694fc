#include "models/seeing/picture_reader.h"

#include "models/images/patches.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

PictureReader::PictureReader(Backend& backend, Eyes eyes, const ImageProcessor& processor, std::string position,
                             const std::filesystem::path& folder)
    : backend_(backend),
      eyes_(std::move(eyes)),
      processor_(processor),
      position_(std::move(position)),
      weights_(eyes_.model.parameters, folder) {
  const PictureShape& picture = eyes_.model.picture;
  check(processor.height() == picture.height && processor.width() == picture.width,
        "{}: its processor makes pictures of {} x {} pixels, its model takes {} x {}; copy both from one source",
        printable(folder.string()), processor.width(), processor.height(), picture.width, picture.height);
}

PreparedPicture PictureReader::prepared(const Image& image) const {
  const ImageProcessor::Views views = processor_.views(image);
  PreparedPicture picture{.positions = eyes_.positions * std::ssize(views.pixels),
                          .text = eyes_.text_of(position_, views.rows, views.columns)};
  for (const std::vector<float>& pixels : views.pixels)
    picture.views.push_back(patches_of(pixels, eyes_.model.picture));
  return picture;
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

std::vector<float> PictureReader::read(const PreparedPicture& picture) {
  std::vector<float> states;
  for (const std::vector<float>& view : picture.views) {
    program().write("source", view);
    program_->run();
    const std::vector<float> seen = program_->read("states");
    check_results(seen, seen.size() / static_cast<size_t>(eyes_.positions));
    states.insert(states.end(), seen.begin(), seen.end());
  }
  return states;
}

}  // namespace vkformer
