# Reads AMD's instructions (RADV_DEBUG=shaders) and looks for slices: a barrier, loads from memory for the next slice, then
# loads from shared memory and the multiply-adds of this one, eight or more. Nothing may wait for the former before the
# latter. Prints how many slices wait, and how many do not. Behind a branch it does not look: fewer slices are found then.
/^\ts_barrier/ { in_reach = 1; loads = waits = shared = sums = 0 }
!in_reach { next }
/^\tglobal_load/ { ++loads }
/^\ts_waitcnt.*vmcnt/ { if (loads && !sums) ++waits }
/^\tds_load/ { if (loads > 1) ++shared; else in_reach = 0 }
/^\t(ds_store|s_cbranch|s_branch|s_endpgm)/ { in_reach = 0 }
/^\t(v_wmma|v_(dual_)?(fmac|fma|pk_fma))/ {
  if (!shared) in_reach = 0
  if (in_reach && ++sums == 8) {
    waits ? ++waiting : ++in_flight
    in_reach = 0
  }
}
END { print waiting + 0, in_flight + 0 }
