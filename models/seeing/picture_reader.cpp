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
  const std::string name = printable(folder.generic_string());
  if (const auto& fit = processor.settings().fit; eyes_.any_size && fit) {
    check(fit->factor == eyes_.any_size->factor,
          "{}: its processor makes pictures of multiples of {} pixels, its model takes those of {}; copy both from one "
          "source",
          name, fit->factor, eyes_.any_size->factor);
    return;
  }
  const PictureShape& picture = eyes_.model.picture;
  check(!eyes_.any_size && processor.height() == picture.height && processor.width() == picture.width,
        "{}: its processor makes pictures of {} x {} pixels, its model takes {} x {}; copy both from one source", name,
        processor.width(), processor.height(), picture.width, picture.height);
}

PreparedPicture PictureReader::prepared(const Image& image) const {
  const ImageProcessor::Views views = processor_.views(image);
  PreparedPicture picture;
  if (eyes_.any_size) {
    const int64_t factor = eyes_.any_size->factor;
    picture.rows = views.height / factor, picture.columns = views.width / factor;
    picture.positions = picture.rows * picture.columns;
    for (int64_t row = 1; row <= picture.rows; ++row) {
      for (int64_t column = 0; column < picture.columns; ++column) picture.text += position_;
      picture.text += row < picture.rows ? eyes_.any_size->row_end : eyes_.any_size->end;
    }
    picture.views.push_back(eyes_.any_size->view(views.pixels.front(), views.height, views.width));
    return picture;
  }
  picture.positions = picture.columns = eyes_.positions * std::ssize(views.pixels);
  picture.text = eyes_.text_of(position_, views.rows, views.columns);
  for (const std::vector<float>& pixels : views.pixels)
    picture.views.push_back({.floats = {{"source", patches_of(pixels, eyes_.model.picture)}}});
  return picture;
}

Program& PictureReader::program(int64_t size) {
  if (loaded_ && program_ && size == size_) return *program_;
  if (!store_) store_ = make_model_store(backend_, eyes_.model);
  program_.reset();  // its memory before the next one's
  auto compiled = backend_.compile(as_stored(eyes_.graph(size), eyes_.model, backend_.facts()), store_);
  if (!loaded_) weights_.load(*store_);
  loaded_ = true, size_ = size;
  program_ = std::move(compiled);
  return *program_;
}

std::vector<float> PictureReader::read(const PreparedPicture& picture) {
  std::vector<float> states;
  for (const View& view : picture.views) {
    Program& program = this->program(view.size);
    for (const auto& [name, values] : view.floats) program.write(name, values);
    for (const auto& [name, values] : view.integers) program.write(name, values);
    program.run();
    const std::vector<float> seen = program.read("states");
    const size_t columns = static_cast<size_t>(program.graph().shape(program.graph().find("states")).columns());
    check_results(seen, columns);
    if (view.order.empty()) states.insert(states.end(), seen.begin(), seen.end());
    for (const int32_t row : view.order) {
      const auto begin = seen.begin() + row * static_cast<std::ptrdiff_t>(columns);
      states.insert(states.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
    }
  }
  return states;
}

}  // namespace vkformer
