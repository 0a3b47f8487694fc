#include "models/generation/session_group.h"

#include "runtime/check.h"

namespace vkformer {

SessionGroup::SessionGroup(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                           GeneratorShape shape)
    : backend_(backend), model_(model), workspace_(backend.make_workspace()) {
  shape.apart = shape.rows > 1;
  const GenerationPlan plan = plan_generation(model, shape, weights->layout(), &backend.facts());
  shape_ = plan.shape;
  cache_bytes_ = plan.cache_bytes;
  store_ = backend.extend_store(weights, plan.layout);
  GeneratorShape one = shape_;
  one.rows = 1;
  one.apart = false;
  for (int64_t row = 0; row < shape_.rows; ++row) {
    if (shape_.apart) one.cache_row = row;
    members_.emplace_back(backend, model, store_, one, workspace_);
  }
}

void SessionGroup::prepare() {
  if (size() > 1) program(false);
  for (Member& member : members_) member.generator.prepare(1);
}

Program& SessionGroup::program(bool all_logits) {
  auto& program = programs_[all_logits];
  if (!program) {
    GeneratorShape shape = shape_;
    if (all_logits) shape.choices = 0;
    program = backend_.compile(build_generation(model_, shape, 1, &backend_.facts()), store_, {}, workspace_);
  }
  return *program;
}

bool SessionGroup::together_pays(size_t count) const {
  return count > 1 && (!backend_.facts().is_cpu() || 4 * count > 3 * size());
}

std::vector<float> SessionGroup::append(std::span<const Next> next, bool all_logits) {
  // A row that does not go on writes behind its end, where its next token comes.
  std::vector<int32_t> ids(size(), 0), positions;
  for (const Member& member : members_) positions.push_back(static_cast<int32_t>(member.session.ids().size()));
  for (const auto& [session, token] : next) {
    check(positions[session] < shape_.capacity, "{} positions are taken, one more doesn't fit into the context of {}",
          positions[session], shape_.capacity);
    check(token >= 0 && token < model_.vocabulary, "token {} is outside the vocabulary of {}", token,
          model_.vocabulary);
    ids[session] = token;
  }
  all_logits = all_logits && shape_.choices > 0;
  Program& steps = program(all_logits);
  write_feed(steps, {{"ids", ids}, {"position", positions}});
  if (model_.angles) {
    std::vector<int32_t> counted;
    for (size_t i = 0; i < size(); ++i)
      counted.push_back(static_cast<int32_t>(members_[i].generator.counted_as(positions[i])));
    steps.write("first_positions", counted);
  }
  if (model_.recurrent) {  // the states of the others stay as they are
    std::vector<int32_t> texts(size(), 0);
    for (const Next& one : next) texts[one.session] = 1;
    steps.write("texts", texts);
  }
  for (const Next& one : next) members_[one.session].session.will_append();
  for (Member& member : members_) member.generator.forget_ahead();  // a key of each row is written
  steps.run();
  const std::vector<float> all = steps.read("logits");
  const bool chosen = shape_.choices > 0 && !all_logits;
  const std::vector<int32_t> all_choices = chosen ? steps.read_ints("choices") : std::vector<int32_t>();
  const size_t columns = all.size() / size();
  std::vector<float> logits;
  choices_.clear();
  for (const auto& [session, token] : next) {
    const auto row = static_cast<std::ptrdiff_t>(session * columns), end = row + static_cast<std::ptrdiff_t>(columns);
    logits.insert(logits.end(), all.begin() + row, all.begin() + end);
    if (chosen) choices_.insert(choices_.end(), all_choices.begin() + row, all_choices.begin() + end);
    members_[session].session.was_appended(token);
  }
  return logits;
}

}  // namespace vkformer
