# Debian's libraries for 64-bit Arm, for cross builds: sourced, never run.

# make_arm64_sysroot: unpacks them into the cache folder, once; $sysroot is where.
make_arm64_sysroot() {
  local packages options package
  packages=(libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5 libfmt-dev libspdlog-dev
    nlohmann-json3-dev libcli11-dev libstb-dev libpng-dev libpng16-16 libturbojpeg0-dev libturbojpeg0
    zlib1g-dev zlib1g libgtest-dev libgmock-dev librapidcheck-dev)
  sysroot=$cache/arm64-$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-10)

  # apt with a state of its own: this machine's list of architectures stays as it is.
  if [ ! -e "$sysroot/.complete" ]; then
    say "unpacking Arm libraries into $sysroot"
    rm -rf "$sysroot"
    mkdir -p "$sysroot"/apt/{lists/partial,cache/archives/partial,packages}
    : >"$sysroot/apt/status"
    options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64
      -o "Dir::State=$sysroot/apt" -o "Dir::State::status=$sysroot/apt/status"
      -o "Dir::Cache=$sysroot/apt/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >/dev/null ||
      die "the package archive is not reachable" 3
    (cd "$sysroot/apt/packages" && apt-get "${options[@]}" download "${packages[@]}" >/dev/null)
    for package in "$sysroot"/apt/packages/*.deb; do
      dpkg-deb -x "$package" "$sysroot"
    done
    rm -rf "$sysroot/apt"
    touch "$sysroot/.complete"
  fi
}
