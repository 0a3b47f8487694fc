#pragma once
// The programs that training and generating with a model compile, tuned one after another (see runtime/tuner.h) on
// random weights, with inputs like those they will get.

#include "models/generation/generation.h"
#include "models/training/training_plan.h"
#include "runtime/tuner.h"

namespace vkformer {

struct TuneObserver {
  /// Rounds done of a program that is being measured: "step", 3, 8.
  std::function<void(const std::string& program, int done, int total)> progress = {};
  std::function<void(const std::string& program, const TunedProgram&)> report = {};
};

/// The training step (or micro-batch and update) and the evaluation. Allocates what training allocates, but for one
/// program at a time, and frees it.
void tune_training(Backend& backend, const TrainingPlan& plan, Tuning& tuning, const TuneObserver& observer = {});

/// The programs of generation_programs(), behind whose positions a text has begun.
void tune_generation(Backend& backend, const Model& model, const GeneratorShape& shape,
                     std::span<const int64_t> prompts, Tuning& tuning, const TuneObserver& observer = {},
                     int64_t guesses = 0);

}  // namespace vkformer
