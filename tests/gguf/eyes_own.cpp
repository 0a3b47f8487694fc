// What vkformer makes of a picture and a text about it, by two GGUF files, on the reference: see eyes_peer.cpp.
// The text has what stands for a picture in the model's own.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "models/families/registry.h"
#include "models/generation/session.h"
#include "models/images/image_file.h"
#include "models/seeing/eye_files.h"
#include "models/seeing/sight.h"
#include "models/weights.h"
#include "runtime/check.h"

using namespace vkformer;

namespace {

void states(const std::string& text, const std::string& mmproj, const std::string& picture, const std::string& out) {
  const auto backend = make_reference_backend();
  EyeFiles files = eye_files(text, mmproj, PromptText(text), load_model(text).vocabulary);
  PictureReader reader(*backend, std::move(files.eyes), files.processor, "", files.weights);
  const std::vector<float> seen = reader.read(reader.prepared(read_image(picture)));
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(seen.data()), static_cast<std::streamsize>(seen.size() * sizeof(float)));
}

void greedy(const std::string& text, const std::string& mmproj, const std::string& picture, int count) {
  const auto backend = make_reference_backend();
  const Model model = load_model(text);
  const PromptText tokenizer(text);
  Generator generator(*backend, model, {.capacity = 256});
  load_parameters(generator.store(), model.parameters, text);
  Sight sight(*backend, text, model, tokenizer, "", mmproj);
  sight.need();
  sight.open(generator);
  const std::string words((std::istreambuf_iterator<char>(std::cin)), {});
  const std::vector<SeenPictures::Shown> shown{sight.show_file(picture)};
  GenerationSession session(generator);
  std::vector<float> logits = session.begin(sight.encoded(words, shown));
  for (int i = 0; i < count; ++i) {
    const auto best = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
    std::cout << best << (i + 1 < count ? ' ' : '\n');
    logits = session.append(best);
  }
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string mode = count == 6 ? arguments[4] : "";
  check(mode == "states" || mode == "greedy", "see the first lines of eyes_peer.cpp");
  if (mode == "states")
    states(arguments[1], arguments[2], arguments[3], arguments[5]);
  else
    greedy(arguments[1], arguments[2], arguments[3], std::stoi(arguments[5]));
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
