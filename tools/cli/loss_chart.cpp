#include "tools/cli/loss_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace vkformer {

namespace {

constexpr double chart_width = 720, chart_height = 400, left = 64, right = 130, top = 44, bottom = 50;
constexpr size_t most_points = 300;  // of a line
constexpr const char *blue = "#1f77b4", *red = "#d62728";

struct Axes {
  double last_iteration = 1, low = 0, high = 1;
  double x(double iteration) const { return left + iteration / last_iteration * (chart_width - left - right); }
  double y(double loss) const { return top + (high - loss) / (high - low) * (chart_height - top - bottom); }
};

std::string polyline(const Axes& axes, const Curve& losses, const char* colour, double stroke, double opacity) {
  std::string points;
  for (const CurvePoint& p : losses)
    points += fmt::format("{:.1f},{:.1f} ", axes.x(static_cast<double>(p.iteration)), axes.y(p.value));
  return fmt::format(
      "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\" points=\"{}\"/>\n", colour,
      stroke, opacity, points);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

/// Names of lines behind their ends, at least a line of text apart.
std::string end_labels(const Axes& axes, const Curve& smoothed, const Curve& validation) {
  struct Label {
    double x, y;
    const char* colour;
    std::string text;
  };
  std::vector<Label> labels;
  const auto add = [&](const Curve& curve, const char* colour, const char* name) {
    if (curve.empty()) return;
    const CurvePoint& last = curve.back();
    labels.push_back({axes.x(static_cast<double>(last.iteration)) + 6, axes.y(last.value) + 4, colour,
                      fmt::format("{} {:.4g}", name, last.value)});
  };
  add(smoothed, blue, "training");
  add(validation, red, "validation");
  std::ranges::sort(labels, {}, &Label::y);
  constexpr double line = 15;
  if (labels.size() == 2 && labels[1].y - labels[0].y < line) {
    const double middle = (labels[0].y + labels[1].y) / 2;
    labels[0].y = middle - line / 2;
    labels[1].y = middle + line / 2;
  }
  std::string svg;
  for (const Label& label : labels)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n",
                       std::min(label.x, chart_width - right + 6), label.y, label.colour, label.text);
  return svg;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int most) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / most, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

Curve running_mean(const Curve& curve, size_t span) {
  Curve means;
  for (size_t i = 0; i < curve.size(); ++i) {
    // As far to both sides, so that the steep beginning is not bent; the end shows a mean, not the last batch.
    const size_t before = std::min(span / 2, i), after = std::min(before, curve.size() - 1 - i);
    double sum = 0;
    for (size_t k = i - before; k <= i + after; ++k) sum += curve[k].value;
    means.push_back({curve[i].iteration, sum / static_cast<double>(before + after + 1)});
  }
  return means;
}

std::string loss_chart(const std::string& title, const Curve& training, const Curve& validation) {
  const Curve drawn = smooth(training, most_points), smoothed = running_mean(drawn, drawn.size() / 12);
  Axes axes{.last_iteration = 1, .low = 1e30, .high = -1e30};
  for (const auto* curve : {&drawn, &validation})
    for (const CurvePoint& p : *curve) {
      if (!std::isfinite(p.value)) continue;
      axes.last_iteration = std::max(axes.last_iteration, static_cast<double>(p.iteration));
      axes.low = std::min(axes.low, p.value);
      axes.high = std::max(axes.high, p.value);
    }
  if (axes.high < axes.low) axes.low = 0, axes.high = 1;
  const std::vector<double> losses = round_ticks(axes.low, axes.high, 6);
  axes.low = losses.front();
  axes.high = losses.back();
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
      chart_width, chart_height, left, escaped(title));
  const double step = losses.size() > 1 ? losses[1] - losses[0] : 1;
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  for (const double loss : losses)
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.{6}f}</text>\n",
        left, axes.y(loss), chart_width - right, left - 8, axes.y(loss) + 4, loss, digits);
  for (const double iteration : round_ticks(0, axes.last_iteration, 6))
    if (iteration <= axes.last_iteration && iteration == std::floor(iteration))
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#888\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.0f}</text>\n",
          axes.x(iteration), chart_height - bottom, chart_height - bottom + 5, chart_height - bottom + 20, iteration);
  const size_t each = (training.size() + most_points - 1) / most_points;
  if (smoothed.size() > 2) svg += polyline(axes, drawn, blue, 1, 0.3);
  svg += polyline(axes, smoothed, blue, 2, 1) + polyline(axes, validation, red, 2, 1);
  for (const CurvePoint& p : validation)
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                       axes.x(static_cast<double>(p.iteration)), axes.y(p.value), red);
  svg += end_labels(axes, smoothed, validation);
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>"
                   "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">loss</text>"
                   "<text x=\"{}\" y=\"24\" text-anchor=\"end\" fill=\"#666\">thin: {}; bold: a mean around it</text>\n"
                   "</svg>\n",
                   left + (chart_width - left - right) / 2, chart_height - 12, top + (chart_height - top - bottom) / 2,
                   chart_width - 10, each > 1 ? fmt::format("training, means of {} iterations", each) : "training");
}

}  // namespace vkformer
