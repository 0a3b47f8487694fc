# shellcheck shell=bash disable=SC2154
# Stand-ins for the kernel's side of GPUs' drivers (Mesa's "drm-shim"): libraries that are preloaded and answer a driver's
# system calls. Sourced after tools/debian_root.sh, not run. The caller sets `logs` and uses the root of make_debian13,
# which has those of package mesa-drm-shim; two more are made here once.

own_stand_ins=/usr/local/lib/vkformer

# Debian packages no stand-in for Intel: that one library of its own Mesa sources, some 250 small C files.
make_intel_stand_in() {
  in_root apt-get -y install meson ninja-build pkg-config python3-mako python3-packaging python3-yaml bison flex \
    libdrm-dev zlib1g-dev libexpat1-dev libzstd-dev xz-utils dpkg-dev
  # shellcheck disable=SC2016
  in_root sh -ec 'sed -n "s/^deb \([^ ]* trixie main\)/deb-src \1/p" /etc/apt/sources.list >/etc/apt/sources.list.d/source.list
    apt-get update
    rm -rf /tmp/mesa && mkdir /tmp/mesa && cd /tmp/mesa
    version=$(apt-cache showsrc mesa | sed -n "s/^Version: //p" | sort -V | head -n 1)
    apt-get source -q -o APT::Sandbox::User=root --download-only "mesa=$version"
    tar -xf mesa_*.orig.tar.[gx]z
    cd mesa-*/
    meson setup build -Dbuildtype=release -Dtools=drm-shim,intel -Dvulkan-drivers= -Dgallium-drivers= -Dplatforms= \
      -Dglx=disabled -Degl=disabled -Dgbm=disabled -Dopengl=false -Dgles1=disabled -Dgles2=disabled -Dllvm=disabled \
      -Dvideo-codecs= -Dshared-glapi=disabled -Dintel-rt=disabled
    ninja -C build src/intel/tools/libintel_noop_drm_shim.so
    cp build/src/intel/tools/libintel_noop_drm_shim.so "$1/"
    rm -rf /tmp/mesa' make_intel "$own_stand_ins"
}

# NVIDIA after Ampere: that of sid knows Ada and Blackwell, too, and runs here.
fetch_newer_nvidia_stand_in() {
  # shellcheck disable=SC2016
  in_root sh -ec 'rm -rf /tmp/sid && mkdir -p /tmp/sid/lists/partial && cd /tmp/sid
    echo "deb $1 sid main" >sid.list
    options="-o Dir::Etc::SourceList=/tmp/sid/sid.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=/tmp/sid/lists"
    options="$options -o APT::Sandbox::User=root"
    apt-get $options update
    apt-get $options download mesa-drm-shim
    dpkg-deb -x mesa-drm-shim_*.deb files
    cp files/usr/lib/*/libnouveau_noop_drm_shim.so "$2/"
    rm -r /tmp/sid' fetch "$(mirror)" "$own_stand_ins"
}

# make_stand_ins CHIP...: what these need and the root lacks.
make_stand_ins() {
  mkdir -p "$root$own_stand_ins"
  if [[ $* == *intel* && ! -e $root$own_stand_ins/libintel_noop_drm_shim.so ]]; then
    echo "set-up: making Intel's stand-in"
    make_intel_stand_in >"$logs/intel.log" 2>&1 || fail "${0##*/}: can't make Intel's stand-in (all output: $logs/intel.log)"
  fi
  if [[ $* == *nvidia-1[9b]* && ! -e $root$own_stand_ins/libnouveau_noop_drm_shim.so ]]; then
    fetch_newer_nvidia_stand_in >"$logs/nvidia.log" 2>&1 ||
      fail "${0##*/}: can't fetch a stand-in for NVIDIA's newer chips (all output: $logs/nvidia.log)"
  fi
}

# on_chip VENDOR-CHIP COMMAND...: runs the command in the root, on a GPU that is not there.
#   amd-:    raven renoir vega20 polaris10 navi10 navi21 vangogh rembrandt navi31 navi33 phoenix strix1 gfx1201
#   nvidia-: 162 164 166 168 (Turing) 170 172 174 176 177 (Ampere) 192 194 196 197 (Ada) 1b2 1b5 (Blackwell)
#   intel-:  skl kbl icl tgl adl rpl dg2 mtl arl lnl bmg ptl
#   adreno-: 618 630 660 730 740 750        apple-m1
on_chip() {
  local vendor=${1%%-*} chip=${1#*-} shim driver chip_variable library
  shift
  case $vendor in
    amd) shim=amdgpu driver=radeon chip_variable=AMDGPU_GPU_ID ;;
    nvidia) shim=nouveau driver=nouveau chip_variable=NOUVEAU_CHIPSET ;;
    intel) shim=intel driver=intel chip_variable=INTEL_STUB_GPU_PLATFORM ;;
    apple) shim=asahi driver=asahi chip_variable=UNUSED ;;
    adreno) shim=freedreno driver=freedreno chip_variable=FD_GPU_ID ;;
  esac
  library=$own_stand_ins/lib${shim}_noop_drm_shim.so
  [[ -e $root$library ]] || library=/usr/lib/$(uname -m)-linux-gnu/lib${shim}_noop_drm_shim.so
  in_root env "LD_PRELOAD=$library" "$chip_variable=$chip" "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/${driver}_icd.json" \
    MESA_SHADER_CACHE_DISABLE=true "$@"
}
