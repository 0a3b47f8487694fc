#include "models/generation/decode_pair.h"

#include <algorithm>
#include <utility>

#include "shaders/draw/draw.h"

namespace vkformer {

DecodePair::DecodePair(Program& first, std::unique_ptr<Program> second, std::string choice)
    : programs_{&first, second.get()}, second_(std::move(second)), choice_(std::move(choice)) {
  first.take_input("ids", *second_, choice_);
  second_->take_input("ids", first, choice_);
}

Program& DecodePair::run(int32_t token, int64_t position, bool goes_on,
                         const std::function<void(Program& program, int64_t position)>& write_position) {
  const bool guessed = position == std::exchange(next_, -1), right = guessed && token == guess_;
  if (guessed) right_ = right ? right_ + 1 : 0;
  Program& program = *programs_[turn_];
  if (std::exchange(ahead_, false) && right) {
    ++counts_.used;
  } else {
    program.write("ids", std::span<const int32_t>(&token, 1));
    write_position(program, position);
    program.start();
  }
  turn_ = 1 - turn_;
  // Now and then, with either program, a run has none before it: it tells whether submissions have become too long.
  constexpr int64_t measured = 255;
  if (goes_on && right_ >= enough && position % measured != 0) {
    Program& next = *programs_[turn_];
    write_position(next, position + 1);
    next.start();
    ++counts_.begun;
    ahead_ = true;
  }
  program.finish();
  guess_ = program.read_ints(choice_).front();
  next_ = position + 1;
  return program;
}

void write_draw(Program& program, const std::optional<TextDraws>& draws, int64_t position, int64_t choices) {
  DrawSettings draw;
  int32_t count = 1;
  if (draws && position + 1 >= draws->tokens) {
    const SamplingSettings& settings = draws->settings;
    draw.temperature = static_cast<float>(settings.temperature);
    if (!settings.temperature_last) draw.cut_temperature = draw.temperature;
    draw.top_p = static_cast<float>(settings.top_p);
    draw.min_p = static_cast<float>(settings.min_p);
    const auto number = draws->draw + static_cast<uint64_t>(position + 1 - draws->tokens);
    draw.place = static_cast<float>(place_of(settings, number));
    count = static_cast<int32_t>(settings.top_k > 0 ? std::min(settings.top_k, choices) : choices);
  }
  program.write("draw", std::vector<float>{draw.cut_temperature, draw.temperature, draw.top_p, draw.min_p, draw.place});
  program.write("draw_count", std::span<const int32_t>(&count, 1));
}

}  // namespace vkformer
