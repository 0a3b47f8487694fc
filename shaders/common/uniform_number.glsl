// lavapipe before Mesa 26 takes an address for one that all lanes share only if it is made of constants and push
// constants, but for those at any index, which Vulkan wants to be the same for all. So a number that is (a workgroup's)
// goes through a table of the digits 0 to 7 there, `args.digits`. `count`: how many digits it has. Kernels take
// gl_SubgroupID from the table, too, although it is not the same for a whole workgroup: lavapipe indexes a subgroup at
// a time.
uint uniform_number(uint x, const uint count) {
  uint sum = 0;
  [[unroll]] for (uint i = 0; i < count; i++) sum += args.digits[x >> 3 * i & 7] << 3 * i;
  return sum;
}
