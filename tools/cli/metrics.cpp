#include "tools/cli/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/loss_chart.h"
#include "tools/cli/output.h"

namespace vkformer {

Metrics::Metrics(const std::filesystem::path& run, int64_t iteration, nlohmann::json facts)
    : run_(run), facts_(std::move(facts)) {
  const std::filesystem::path path = run / "metrics.jsonl";
  std::string kept;
  int64_t unread = 0;
  // Opening a pipe would wait for its writer; what is no file can't be replaced either, which is said below.
  std::optional<MappedFile> old;
  if (std::filesystem::is_regular_file(path) && !std::filesystem::is_empty(path)) old.emplace(path);
  for (std::string_view rest = old ? old->text() : ""; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    const bool whole = line.size() < rest.size();  // a kill may have cut the last one short
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("iteration") || !json["iteration"].is_number_integer()) {
      unread += whole ? 1 : 0;
      continue;
    }
    if (json["iteration"].get<int64_t>() > iteration) continue;
    kept += line + "\n";
    record_.add(json);
  }
  const std::string lost =
      fmt::format("{}: {} without an iteration", printable(path.generic_string()), counted(unread, "line"));
  check(unread == 0 || iteration > 0, "{}, so a run did not write it and a new run would replace it; move it away",
        lost);
  if (unread > 0) say("{} left out", lost);
  old.reset();  // on Windows what is mapped can't be replaced
  write_file_atomically(path, kept);
  file_.open(path, std::ios::app | std::ios::binary);
  check(static_cast<bool>(file_), "can't write {}", path.generic_string());
}

void Metrics::append(const nlohmann::json& line) {
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  check(static_cast<bool>(file_), "can't write {}; is the disk full?", (run_ / "metrics.jsonl").generic_string());
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
  const std::filesystem::path path = run_ / "metrics.jsonl";
  file_.flush();
  check(static_cast<bool>(file_), "can't write {}; is the disk full?", path.generic_string());
  if (!std::filesystem::exists(path)) {
    say("{} was removed; it is begun anew from here", printable(path.generic_string()));
    file_ = std::ofstream(path, std::ios::app | std::ios::binary);
  }
  if (training_losses().empty()) return;
  const std::string title = fmt::format(
      "Loss of {}",
      printable(std::filesystem::absolute(run_ / "").lexically_normal().parent_path().filename().generic_string(), 60));
  write_file_atomically(run_ / "loss.svg", loss_chart(title, training_losses(), validation_losses()));
  write_file_atomically(run_ / "run.html", record_.page(facts_));
}

}  // namespace vkformer
