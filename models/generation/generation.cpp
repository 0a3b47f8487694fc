#include "models/generation/generation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ranges>

#include "models/stored_weights.h"
#include "runtime/check.h"
#include "shaders/cache_reorder/cache_reorder.h"

namespace vkformer {

namespace {

Graph build_reorder(const StoreLayout& layout, const std::vector<std::string>& caches,
                    const std::vector<std::string>& states, int64_t rows) {
  Graph graph;
  const Value parents = graph.input("parents", {rows}, DType::i32);
  const auto reorder = [&](const std::vector<std::string>& names, Role role, const char* count) {
    if (names.empty()) return;
    const Value positions = graph.input(count, {1}, DType::i32);
    for (const std::string& name : names) {
      const TensorType& type = layout.find(name)->type;
      cache_reorder(graph, graph.persistent(name, type.shape, role, type.dtype), parents, positions);
    }
  };
  reorder(caches, Role::cache, "count");
  reorder(states, Role::state, "all");
  return graph;
}

}  // namespace

Generator::Generator(Backend& backend, const Model& model, const GeneratorShape& shape)
    : Generator(backend, model, make_model_store(backend, model), shape) {}

Generator::Generator(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const GeneratorShape& shape,
                     std::shared_ptr<Workspace> workspace)
    : backend_(backend), model_(model) {
  GenerationPlan plan = plan_generation(model, shape, weights->layout(), &backend.facts());
  shape_ = plan.shape;
  caches_ = std::move(plan.caches);
  states_ = std::move(plan.states);
  store_ = backend.extend_store(std::move(weights), plan.layout);
  workspace_ = workspace ? std::move(workspace) : backend.make_workspace();
}

void Generator::prepare(int64_t prompt) {
  if (model_.has_encoder()) encoder();
  // The largest first: the workspace need not grow.
  for (const RunShape& run : prompt_runs(model_, shape_, std::span(&prompt, 1)) | std::views::reverse) program_of(run);
  if (prompt + 1 >= shape_.capacity) return;  // the prompt's own logits give one more token
  program_of(1);
  if (runs_ahead()) decode_pair();
}

Program& Generator::encoder() {
  if (!encoder_) encoder_ = backend_.compile(build_encoder(model_, shape_, &backend_.facts()), store_, {}, workspace_);
  return *encoder_;
}

Program& Generator::program_of(const RunShape& run) {
  auto& program = run.positions == 1 && run.pictured == 0 ? decode_[all_logits_] : prefills_[all_logits_][run];
  if (!program) {
    GeneratorShape shape = shape_;
    if (all_logits_) shape.choices = 0;
    program = backend_.compile(build_generation(model_, shape, run, &backend_.facts()), store_, {}, workspace_);
  }
  return *program;
}

bool Generator::runs_ahead() const {
  return may_run_ahead_ && !all_logits_ && !backend_.profiles() && backend_.joins_programs() &&
         can_run_ahead(model_, shape_);
}

DecodePair& Generator::decode_pair() {
  if (!pair_) {
    auto second = backend_.compile(build_generation(model_, shape_, 1, &backend_.facts()), store_, {}, workspace_);
    pair_ = std::make_unique<DecodePair>(program_of(1), std::move(second), shape_.choices > 1 ? "drawn" : "choices");
  }
  return *pair_;
}

void Generator::encode(std::span<const int32_t> source, std::span<const int32_t> mask) {
  check(model_.has_encoder(), "{} has no encoder", model_.family);
  const auto rows = static_cast<size_t>(shape_.sources), most = static_cast<size_t>(shape_.source_positions);
  check(!source.empty() && source.size() % rows == 0, "{} ids don't make {} sources of one length", source.size(),
        rows);
  const size_t length = source.size() / rows;
  check(length <= most, "the source has {} tokens, the encoder only {} positions; shorten it", length, most);
  check(mask.empty() || mask.size() == source.size(), "the mask of the source has {} entries, the source {}",
        mask.size(), source.size());
  check_tokens(source);
  std::vector<int32_t> ids(rows * most, 0);
  source_mask_.assign(rows * most, 0);
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < length; ++i) {
      ids[r * most + i] = source[r * length + i];
      source_mask_[r * most + i] = mask.empty() || mask[r * length + i] != 0;
    }
  write_feed(encoder(), {{"source", ids}, {"source_mask", source_mask_}, {"position", std::vector<int32_t>{0}}});
  forget_ahead();
  encoder_->run();
  encoded_ = true;
}

void Generator::encode(std::span<const float> frames) {
  const TensorType source = model_.source_type(shape_.sources, shape_.source_positions);
  check(model_.frame_columns > 0 && std::ssize(frames) == source.elements(),
        "{} values were given; this {} model's sources have {}", frames.size(), model_.family,
        source.shape.to_string());
  write_feed(encoder(), {{"source", frames}, {"position", std::vector<int32_t>{0}}});
  forget_ahead();
  encoder_->run();
  encoded_ = true;
}

void Generator::check_tokens(std::span<const int32_t> tokens, bool pictured) const {
  for (int32_t token : tokens)
    check(token >= 0 && (pictured || token < model_.vocabulary), "token {} is outside the vocabulary of {}", token,
          model_.vocabulary);
}

void Generator::check_room(int64_t positions) const {
  check(position_ + positions <= shape_.capacity, "{} positions are taken, {} more don't fit into the context of {}",
        position_, positions, shape_.capacity);
}

void Generator::write_position(Program& program, int64_t position, bool pictured) {
  write_feed(program, {{"position", std::vector<int32_t>{static_cast<int32_t>(position)}}});
  if (model_.angles && !pictured && !shape_.left_padded)
    write_feed(program, {{"first_positions", std::vector<int32_t>{static_cast<int32_t>(counted_.at(position))}}});
  if (!model_.has_encoder()) return;
  check(encoded_, "there is no source yet; call encode() before the decoder");
  if (model_.masks_sources()) program.write("source_mask", source_mask_);
}

void Generator::write_pictures(Program& program, const RunShape& shape, std::span<const int32_t> tokens,
                               std::span<int32_t> ids) {
  if (model_.angles)
    program.write("angles", angle_rows(counted_.go_on(position_, tokens, model_.vocabulary, pictures_.place),
                                       model_.angles, shape.positions * model_.angle_columns));
  program.write("pictured", picture_rows(pictures_, ids, model_.vocabulary, shape.pictured * width_of(model_)));
  if (!model_.whole_pictures) return;
  check(shape_.rows == 1, "pictures of a {} model stand in one text at a time, not in {}", model_.family, shape_.rows);
  const auto write = [&](const char* input, int64_t window) {
    program.write(input, keys_seen({shape.positions, shape.seen}, position_, std::ssize(tokens), window));
  };
  write("sees", 0);
  if (model_.window > 0) write("sees_in_window", model_.window);
}

void Generator::write_inputs(Program& program, const RunShape& shape, std::span<const int32_t> tokens) {
  forget_ahead();
  check_tokens(tokens, shape.pictured > 0);
  const int64_t positions = shape.positions;
  const auto rows = static_cast<size_t>(shape_.rows), length = tokens.size() / rows;
  check_room(static_cast<int64_t>(length));
  std::vector<int32_t> ids(rows * static_cast<size_t>(positions), 0), first;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < length; ++i) ids[r * static_cast<size_t>(positions) + i] = tokens[r * length + i];
    if (shape_.left_padded) first.push_back(static_cast<int32_t>(position_) - pads_[r]);
  }
  if (shape.pictured > 0) write_pictures(program, shape, tokens, ids);
  write_feed(program, {{"ids", ids}});
  write_position(program, position_, shape.pictured > 0);
  if (shape_.left_padded) write_feed(program, {{"mask", mask_}, {"first_positions", first}});
  if (model_.recurrent) {
    // States take nothing of what pads a row in front, or the program behind.
    std::vector<int32_t> texts(ids.size(), 0);
    for (size_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < length; ++i)
        texts[r * static_cast<size_t>(positions) + i] =
            !shape_.left_padded || position_ + static_cast<int64_t>(i) >= pads_[r];
    program.write("texts", texts);
  }
}

std::vector<float> Generator::run(const RunShape& shape, std::span<const int32_t> tokens) {
  Program& program = program_of(shape);
  const auto rows = static_cast<size_t>(shape_.rows);
  const auto length = static_cast<int64_t>(tokens.size() / rows);
  write_inputs(program, shape, tokens);
  if (shape.positions > 1 && !shape.each) {
    std::vector<int32_t> last;
    for (int64_t r = 0; r < shape_.rows; ++r) last.push_back(static_cast<int32_t>(r * shape.positions + length - 1));
    program.write("last", last);
  }
  position_ += length;  // whether it fails or not: states have moved then
  program.run();
  return results_of(program);
}

std::vector<float> Generator::results_of(const Program& program) {
  std::vector<float> logits = program.read("logits");
  choices_.clear();
  if (shape_.choices == 0 || all_logits_) return logits;
  choices_ = program.read_ints("choices");
  if (!shape_.log_probabilities) return logits;
  const std::vector<float> largest = program.read("largest_probability");
  const auto count = static_cast<size_t>(shape_.choices);
  for (size_t r = 0; r < static_cast<size_t>(shape_.rows); ++r) {
    const double log_sum = static_cast<double>(logits[r * count]) - std::log(static_cast<double>(largest[r]));
    for (float& logit : std::span(logits).subspan(r * count, count))
      logit = static_cast<float>(static_cast<double>(logit) - log_sum);
  }
  return logits;
}

std::vector<float> Generator::prefill(std::span<const int32_t> prompts, std::span<const int32_t> pads) {
  const auto rows = static_cast<size_t>(shape_.rows), capacity = static_cast<size_t>(shape_.capacity);
  check(!prompts.empty(), "the prompt is empty; give at least one token");
  check(prompts.size() % rows == 0, "{} ids don't make {} prompts of one length", prompts.size(), rows);
  const size_t length = prompts.size() / rows;
  check(length <= capacity, "the prompt has {} tokens, the context only {}; shorten it", length, capacity);
  check(pads.empty() || (shape_.left_padded && pads.size() == rows), "{} paddings were given for {} rows", pads.size(),
        shape_.left_padded ? rows : 0);
  pads_.assign(pads.begin(), pads.end());
  pads_.resize(rows, 0);
  mask_.assign(shape_.left_padded ? rows * capacity : 0, 1);
  for (size_t r = 0; r < rows; ++r) {
    check(pads_[r] >= 0 && static_cast<size_t>(pads_[r]) < length, "row {} has {} paddings in {} positions", r,
          pads_[r], length);
    if (shape_.left_padded) std::fill_n(mask_.begin() + static_cast<std::ptrdiff_t>(r * capacity), pads_[r], 0);
  }
  position_ = 0;
  counted_.rewind(0);
  return run_prompts(prompts);
}

std::vector<float> Generator::append(std::span<const int32_t> tokens) {
  check(shape_.rows == 1 && !shape_.left_padded, "tokens are appended to one row, not to {}", shape_.rows);
  check(!tokens.empty(), "there is no token to append");
  check_room(std::ssize(tokens));
  return run_prompts(tokens);
}

std::vector<float> Generator::extend(std::span<const int32_t> tokens) {
  check(shape_.rows == 1 && !shape_.left_padded && !shape_.log_probabilities && !tokens.empty(),
        "{} tokens can't extend {} rows", tokens.size(), shape_.rows);
  // Padding keeps the number of programs small, and of pipelines, which know how many rows they have.
  const auto positions = static_cast<int64_t>(std::bit_ceil(tokens.size()));
  check_room(positions);
  const RunShape shape(positions, 0, true);
  last_extension_ = &program_of(shape);
  std::vector<float> logits = run(shape, tokens);
  logits.resize(logits.size() / static_cast<size_t>(positions) * tokens.size());
  choices_.resize(choices_.size() / static_cast<size_t>(positions) * tokens.size());
  return logits;
}

size_t Generator::cut(std::span<const int32_t> ids, size_t count, bool later) const {
  if (!model_.whole_pictures) return count;
  const auto pictured = [&](size_t i) { return ids[i] >= model_.vocabulary; };
  while (count > 0 && count < ids.size() && pictured(count - 1) && pictured(count)) later ? ++count : --count;
  return count;
}

size_t Generator::may_run(std::span<const int32_t> tokens) const {
  if (!pictures_ || !model_.whole_pictures) return tokens.size();
  const bool pictured = tokens.front() >= model_.vocabulary;
  const auto end = std::ranges::find_if(tokens, [&](int32_t id) { return (id >= model_.vocabulary) != pictured; });
  const auto count = static_cast<size_t>(end - tokens.begin());
  if (!pictured) return count;
  const int64_t run = prompt_run(model_, shape_, static_cast<int64_t>(count), position_).positions;
  check(run >= static_cast<int64_t>(count),
        "a picture takes {} positions in one run, for which there is no room behind {}", count, position_);
  return count;
}

void Generator::for_pieces(
    std::span<const int32_t> tokens,
    const std::function<void(const RunShape& shape, std::span<const int32_t> piece, size_t begin)>& run) {
  const auto rows = static_cast<size_t>(shape_.rows);
  const size_t length = tokens.size() / rows;
  for (size_t done = 0; done < length;) {
    const size_t left = rows == 1 ? may_run(tokens.subspan(done)) : length - done;
    RunShape shape = prompt_run(model_, shape_, static_cast<int64_t>(left), position_);
    const size_t count = std::min(left, static_cast<size_t>(shape.positions));
    std::vector<int32_t> piece;
    for (size_t r = 0; r < rows; ++r) {
      const auto row = tokens.subspan(r * length + done, count);
      piece.insert(piece.end(), row.begin(), row.end());
    }
    if (pictures_ && std::ranges::any_of(piece, [&](int32_t id) { return id >= model_.vocabulary; }))
      shape.pictured = pictures_.columns;
    if (shape.pictured > 0 && model_.whole_pictures)  // not all that the cache could hold
      shape.seen = std::min(shape_.capacity,
                            static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(position_ + shape.positions))));
    run(shape, piece, done);
    done += count;
  }
}

std::vector<float> Generator::run_prompts(std::span<const int32_t> tokens) {
  std::vector<float> logits;
  for_pieces(tokens, [&](const RunShape& shape, std::span<const int32_t> piece, size_t) {
    last_prefill_ = &program_of(shape);
    logits = run(shape, piece);
  });
  return logits;
}

void Generator::rewind(int64_t position) {
  check(position >= 0 && position <= position_, "{} positions are taken; it can't go back to {}", position_, position);
  check(kept(position) == position, "a {} model keeps states, which can't go back from {} positions to {}",
        model_.family, position_, position);
  position_ = position;
  counted_.rewind(position);
}

std::vector<float> Generator::decode(std::span<const int32_t> tokens) {
  check(tokens.size() == static_cast<size_t>(shape_.rows), "{} tokens were given for {} rows", tokens.size(),
        shape_.rows);
  if (!runs_ahead()) return run(1, tokens);
  check_tokens(tokens);
  check_room(1);
  const int64_t position = position_++;  // whether it fails or not
  const auto write_inputs_at = [this](Program& program, int64_t at) {
    write_position(program, at);
    if (shape_.choices > 1) write_draw(program, expected_.draws, at, shape_.choices);
  };
  const bool goes_on = position_ < std::min(shape_.capacity, expected_.end - 1);  // the last token need not be run
  return results_of(decode_pair().run(tokens[0], position, goes_on, write_inputs_at));
}

void Generator::reorder(std::span<const int32_t> parents) {
  forget_ahead();
  if (!reorder_)
    reorder_ = backend_.compile(build_reorder(store_->layout(), caches_, states_, shape_.rows), store_, {}, workspace_);
  reorder_->write("parents", parents);
  if (!caches_.empty()) reorder_->write("count", std::vector<int32_t>{static_cast<int32_t>(position_)});
  if (!states_.empty()) reorder_->write("all", std::vector<int32_t>{std::numeric_limits<int32_t>::max()});
  reorder_->run();
  // Beams of one prompt have the same padding, so `pads_` and `mask_` stay.
}

}  // namespace vkformer
