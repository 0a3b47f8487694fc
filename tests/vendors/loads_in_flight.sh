# shellcheck shell=bash disable=SC2154
# Whether kernels that stage slices in shared memory let the next slice travel while they multiply. A value that is touched
# where it is loaded, as by a select at an edge, is waited for there: the products are right, every statistic is as good,
# and each slice costs a whole access to memory. Sourced after tools/vendors/stand_ins.sh by tools/check-vendors.

# loads_in_flight CHIP: an AMD one with matrix cores, whose driver prints its instructions.
loads_in_flight() {
  local told waiting in_flight
  on_chip "$1" env RADV_DEBUG=shaders build/debian13/vkformer pipelines 2x768x12:5000:256 --dtype f32 f16 \
    --precision f32 f16 >"$logs/instructions.txt" 2>&1 || {
    tail -n 20 "$logs/instructions.txt"
    return 1
  }
  told=$(awk -f tests/vendors/loads_in_flight.awk "$logs/instructions.txt")
  read -r waiting in_flight <<<"$told"
  echo "$waiting slices wait for the next one, $in_flight do not"
  ((waiting == 0 && in_flight >= 16))
}
