# shellcheck shell=bash
# A bare Debian in a folder, for the scripts of scripts/soak, which source this file after scripts/lib.sh. The caller sets WORK, a
# folder for logs, DEBIAN, the folder of the Debian, FOLDER, the folder in it in which commands run, and VARIABLES, an array of their
# environment. It may set SUITE (default: bookworm, which is Debian 12), INCLUDE, more packages with commas between them, and GIVEN,
# a bare Debian that debootstrap made before. It needs root and debootstrap.

# Makes the Debian, or copies the GIVEN one.
make_debian() {
  if [[ -n ${GIVEN:-} ]]; then
    cp -a "$GIVEN" "$DEBIAN"
  else
    debootstrap --variant=minbase ${INCLUDE:+--include="$INCLUDE"} "${SUITE:-bookworm}" "$DEBIAN" >"$WORK/debootstrap.log" 2>&1 || die "$(tail -3 "$WORK/debootstrap.log")"
  fi
  cp /etc/resolv.conf "$DEBIAN/etc/"
  mount -t proc proc "$DEBIAN/proc"
  mount --bind /dev "$DEBIAN/dev"
  mount --bind /dev/pts "$DEBIAN/dev/pts" # for the tests of terminals
}

unmount_debian() { umount "$@" "$DEBIAN/proc" "$DEBIAN/dev/pts" "$DEBIAN/dev"; }

# in_debian COMMAND...: runs a command in the FOLDER of the Debian, with the VARIABLES.
in_debian() {
  # shellcheck disable=SC2016  # the shell of the Debian expands them
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "${VARIABLES[@]}" chroot "$DEBIAN" \
    sh -c 'cd "$0" && exec "$@"' "$FOLDER" "$@"
}

# Removes everything in WORK, where the Debian is.
remove_debian() {
  if [[ -d $DEBIAN ]]; then unmount_debian -q || true; fi
  rm -rf --one-file-system "$WORK"
}
