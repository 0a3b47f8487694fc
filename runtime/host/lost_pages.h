#pragma once
// What ends a process that reads a mapped file after another program cut it short, or a GPU's memory after that is
// gone.

namespace vkformer::host {

/// Lets that (SIGBUS) end the process with one line that names the file or the GPU's device, and status 1.
void name_lost_pages();

}  // namespace vkformer::host
