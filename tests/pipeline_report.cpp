// Prints what the suite's pipelines cost, after its last test.

#include <fmt/format.h>

#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "runtime/pipeline_log.h"

namespace {

class PipelineReport : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (vkformer::pipelines_logged() > 0) fmt::print("\n{}", vkformer::pipeline_table());
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(PipelineReport)
