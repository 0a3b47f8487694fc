#include "tools/cli/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

namespace {

constexpr double width = 720, height = 400, left = 60, right = 20, top = 30, bottom = 50;

struct Axes {
  double last_iteration = 1, low = 0, high = 1;
  double x(double iteration) const { return left + iteration / last_iteration * (width - left - right); }
  double y(double loss) const { return top + (high - loss) / (high - low) * (height - top - bottom); }
};

std::string polyline(const Axes& axes, const Curve& losses, const char* colour) {
  std::string points;
  for (const CurvePoint& p : losses)
    points += fmt::format("{:.1f},{:.1f} ", axes.x(static_cast<double>(p.iteration)), axes.y(p.value));
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", colour, points);
}

}  // namespace

Metrics::Metrics(const std::filesystem::path& run, int64_t iteration, nlohmann::json facts)
    : run_(run), facts_(std::move(facts)) {
  const std::filesystem::path path = run / "metrics.jsonl";
  std::string kept;
  // Opening a pipe would wait for its writer; what is no file can't be replaced either, which is said below.
  std::optional<MappedFile> old;
  if (std::filesystem::is_regular_file(path) && !std::filesystem::is_empty(path)) old.emplace(path);
  for (std::string_view rest = old ? old->text() : ""; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto json = nlohmann::json::parse(line, nullptr, false);
    // A line that a kill cut short is dropped with the later ones.
    if (!json.is_object() || !json.contains("iteration") || !json["iteration"].is_number_integer() ||
        json["iteration"].get<int64_t>() > iteration)
      continue;
    kept += line + "\n";
    record_.add(json);
  }
  write_file_atomically(path, kept);
  file_.open(path, std::ios::app);
  check(static_cast<bool>(file_), "can't write {}", path.string());
}

void Metrics::append(const nlohmann::json& line) {
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  check(static_cast<bool>(file_), "can't write {}; is the disk full?", (run_ / "metrics.jsonl").string());
  record_.add(line);
}

void Metrics::resumed(int64_t iteration) { append({{"iteration", iteration}, {"resumed", true}}); }

void Metrics::training(int64_t iteration, double loss, double learning_rate, double gradient_norm,
                       double tokens_per_second) {
  append({{"iteration", iteration},
          {"loss", loss},
          {"learning_rate", learning_rate},
          {"gradient_norm", gradient_norm},
          {"tokens_per_second", std::round(tokens_per_second)}});
}

void Metrics::evaluation(int64_t iteration, nlohmann::json row) {
  row["iteration"] = iteration;
  append(row);
}

void Metrics::flush() {
  file_.flush();
  check(static_cast<bool>(file_), "can't write {}; is the disk full?", (run_ / "metrics.jsonl").string());
  if (training_losses().empty()) return;
  write_file_atomically(run_ / "loss.svg", loss_curve_svg(training_losses(), validation_losses()));
  write_file_atomically(run_ / "run.html", record_.page(facts_));
}

std::string loss_curve_svg(const Curve& training, const Curve& validation) {
  const Curve smoothed = smooth(training, 300);
  Axes axes{.last_iteration = 1, .low = 1e30, .high = -1e30};
  for (const auto* curve : {&smoothed, &validation})
    for (const CurvePoint& p : *curve) {
      if (!std::isfinite(p.value)) continue;
      axes.last_iteration = std::max(axes.last_iteration, static_cast<double>(p.iteration));
      axes.low = std::min(axes.low, p.value);
      axes.high = std::max(axes.high, p.value);
    }
  if (axes.high < axes.low) axes.low = 0, axes.high = 1;
  axes.low = std::floor(axes.low * 2) / 2;
  axes.high = std::max(std::ceil(axes.high * 2) / 2, axes.low + 0.5);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  constexpr int ticks = 5;
  for (int i = 0; i <= ticks; ++i) {
    const double loss = axes.low + (axes.high - axes.low) * i / ticks;
    const double iteration = std::round(axes.last_iteration * i / ticks);
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.2f}</text>"
        "<text x=\"{6:.1f}\" y=\"{7}\" text-anchor=\"middle\">{8:.0f}</text>\n",
        left, axes.y(loss), width - right, left - 8, axes.y(loss) + 4, loss, axes.x(iteration), height - bottom + 18,
        iteration);
  }
  svg += polyline(axes, smoothed, "#1f77b4") + polyline(axes, validation, "#d62728");
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>"
      "<text x=\"{}\" y=\"18\" fill=\"#1f77b4\">training loss</text>"
      "<text x=\"{}\" y=\"18\" fill=\"#d62728\">validation loss</text>\n</svg>\n",
      width / 2, height - 12, left, left + 110);
  return svg;
}

}  // namespace vkformer
