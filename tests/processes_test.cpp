// Processes that train one model together come to the same bits, however many they are.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"
#include "models/training/tree_sum.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"
#include "tests/process_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Values whose sums depend on their order.
std::vector<float> values_of(int leaf, size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(1 + 0.37f * static_cast<float>((i * 5 + static_cast<size_t>(leaf) * 3) % 11),
                                static_cast<int>((i + static_cast<size_t>(leaf) * 7) % 23)));
  return values;
}

std::vector<float> tree_sum(int first, int leaves, size_t count) {
  TreeSum sum(count);
  for (int leaf = first; leaf < first + leaves; ++leaf) {
    std::ranges::copy(values_of(leaf, count), sum.next().begin());
    sum.add();
  }
  const std::span<float> whole = sum.sum();
  return {whole.begin(), whole.end()};
}

struct Outcome {
  std::vector<float> parameters;
  std::vector<double> numbers;  ///< losses and norms
  bool operator==(const Outcome&) const = default;
};

const nlohmann::json config = {{"model_type", "gpt2"}, {"vocab_size", 23}, {"n_positions", 8},
                               {"n_embd", 12},         {"n_layer", 1},     {"n_head", 3}};

/// Three iterations of six micro-batches of unlike numbers of targets, with dropout.
Outcome train(Backend& backend, const TrainSettings& settings, ProcessGroup& group) {
  const Model model = model_of(config);
  const BatchShape shape{.rows = 2, .positions = 8};
  Trainer trainer(backend, plan_training(model, settings, {shape}, backend), group);
  initialize(trainer.store(), model.parameters, 5);
  std::vector<int32_t> ids, targets;
  const auto source = [&](int64_t micro) {
    ids = some_ids(16, 23, micro + 3);
    targets = some_ids(16, 23, micro + 7);
    std::fill_n(targets.begin(), micro * 2, -100);
    return TrainingBatch{shape, {{"ids", ids}, {"targets", targets}}};
  };
  Outcome outcome;
  for (int64_t iteration = 1; iteration <= 3; ++iteration) {
    outcome.numbers.push_back(trainer.step(iteration, source));
    outcome.numbers.push_back(trainer.gradient_norm());
  }
  outcome.parameters = trainer.store().read(block_name("parameters", 0));
  return outcome;
}

template <class MakeBackend>
void check_trainings(const MakeBackend& make, DType products) {
  TrainSettings settings{.accumulate = 6, .warmup = 0, .products = products};
  settings.loss_scale = 0x1p60;  // with f16 the first iteration overflows
  const Outcome plain = train(*make(), settings, ProcessGroup::alone());
  settings.gradient_parts = 4;
  const Outcome alone = train(*make(), settings, ProcessGroup::alone());
  for (size_t i = 0; i < plain.numbers.size(); ++i)
    CHECK(std::abs(alone.numbers[i] - plain.numbers[i]) < 1e-3 * plain.numbers[i]);
  CHECK(alone.parameters != plain.parameters);
  for (const int processes : {2, 4}) {
    std::vector<Outcome> outcomes(static_cast<size_t>(processes));
    as_processes(processes, [&](ProcessGroup& group) {
      outcomes[static_cast<size_t>(group.rank())] = train(*make(), settings, group);
    });
    for (const Outcome& outcome : outcomes) CHECK(outcome == alone);
  }
}

}  // namespace

TEST_CASE("processes add as a binary tree does, and send no more than they must", "[processes]") {
  for (const size_t count : {1u, 3u, 1024u})
    for (const int size : {1, 2, 4, 8}) {
      const std::vector<float> whole = tree_sum(0, 16, count);
      std::vector<std::vector<float>> sums(static_cast<size_t>(size));
      const size_t sent = as_processes(size, [&](ProcessGroup& group) {
        std::vector<float>& sum = sums[static_cast<size_t>(group.rank())];
        sum = tree_sum(group.rank() * 16 / size, 16 / size, count);
        group.add(sum);
      });
      for (const std::vector<float>& sum : sums) CHECK(sum == whole);
      if (count == 1024) CHECK(sent == 2 * (static_cast<size_t>(size) - 1) * count * sizeof(float));
    }
}

TEST_CASE("processes tell each other texts", "[processes]") {
  for (const int size : {1, 2, 8})
    as_processes(size, [&](ProcessGroup& group) {
      const auto text_of = [](int rank) { return std::string(static_cast<size_t>(rank * 3), 'x') + char('a' + rank); };
      const std::string told = group.tell(group.leads() ? "what is next" : "");
      const std::vector<std::string> texts = group.gather(text_of(group.rank()));
      bool right = told == "what is next" && texts.size() == static_cast<size_t>(size);
      for (int rank = 0; rank < size && right; ++rank) right = texts[static_cast<size_t>(rank)] == text_of(rank);
      const std::vector<std::string> unlike = group.gather(std::vector<std::string>(size_t(group.rank() % 3), "y"));
      right = right && std::ranges::count(unlike, "y") == std::ssize(unlike) && std::ssize(unlike) == size - 1;
      if (!right) throw std::runtime_error("a text was lost");  // Catch2's checks are for one thread
    });
}

TEST_CASE("three processes are refused", "[processes]") {
  Mailboxes mail(3);
  ThreadLink link(mail, 0);
  CHECK_THAT(error_of([&] { ProcessGroup group(link); }), ContainsSubstring("3 processes can't share a training"));
}

TEST_CASE("all processes hear that one could not do its part", "[processes]") {
  std::vector<std::string> heard(4);
  as_processes(4, [&](ProcessGroup& group) {
    const int rank = group.rank();
    try {
      group.together([&] { check(rank != 2, "no room"); });
    } catch (const OtherProcessStopped& other) {
      heard[static_cast<size_t>(rank)] = other.what();
    } catch (const Error& own) {
      heard[static_cast<size_t>(rank)] = own.what();
    }
    group.together([] {});  // and can go on
  });
  CHECK(heard == std::vector<std::string>{"process 2: no room", "process 2: no room", "no room", "process 2: no room"});
}

TEST_CASE("one, two and four processes train to the same bits", "[processes]") {
  check_trainings(make_reference_backend, DType::f32);
}

TEST_CASE("one, two and four processes train to the same bits on the device", "[processes][device][one_driver]") {
  check_trainings([] { return make_backend(""); }, DType::f32);
  check_trainings([] { return make_backend(""); }, DType::f16);
}

TEST_CASE("a training goes on after a process was interrupted", "[processes]") {
  const Model model = model_of(config);
  const BatchShape shape{.rows = 2, .positions = 8};
  const TrainSettings settings{.accumulate = 2, .gradient_parts = 2, .warmup = 0};
  const std::vector<int32_t> ids = some_ids(16, 23, 3), targets = some_ids(16, 23, 5);
  struct Interruption {};
  std::vector<std::vector<float>> trained(2);
  const auto work = [&](ProcessGroup& group, bool interrupt) {
    const auto backend = make_reference_backend();
    Trainer trainer(*backend, plan_training(model, settings, {shape}, *backend), group);
    initialize(trainer.store(), model.parameters, 5);
    bool stopped = false;
    try {
      trainer.step(1, [&](int64_t) -> TrainingBatch {
        if (interrupt && group.leads()) throw Interruption();
        return {shape, {{"ids", ids}, {"targets", targets}}};
      });
    } catch (const OtherProcessStopped&) {
      stopped = !group.leads();
    } catch (const Interruption&) {
      stopped = group.leads();
    }
    if (stopped != interrupt) throw std::runtime_error("not all heard of it");
    if (interrupt)
      trainer.step(1, [&](int64_t) -> TrainingBatch { return {shape, {{"ids", ids}, {"targets", targets}}}; });
    trained[static_cast<size_t>(group.rank())] = trainer.store().read(block_name("parameters", 0));
  };
  as_processes(2, [&](ProcessGroup& group) { work(group, false); });
  const std::vector<float> undisturbed = trained[0];
  as_processes(2, [&](ProcessGroup& group) { work(group, true); });
  CHECK(trained[0] == undisturbed);
  CHECK(trained[1] == undisturbed);
}

TEST_CASE("parts of a gradient that can't be are refused", "[processes]") {
  const Model model = model_of(config);
  const auto backend = make_reference_backend();
  const auto plan = [&](int64_t accumulate, int64_t parts) {
    return plan_training(model, {.accumulate = accumulate, .gradient_parts = parts}, {{.rows = 1, .positions = 8}},
                         *backend);
  };
  CHECK_THAT(error_of([&] { plan(6, 3); }), ContainsSubstring("a gradient in 3 parts"));
  CHECK_THAT(error_of([&] { plan(2, 4); }), ContainsSubstring("2 micro-batches can't be added up in 4 parts"));
  Mailboxes mail(2);
  ThreadLink link(mail, 0);
  ProcessGroup group(link);
  CHECK_THAT(error_of([&] { Trainer(*backend, plan(2, 1), group); }), ContainsSubstring("2 processes share 1 parts"));
}
