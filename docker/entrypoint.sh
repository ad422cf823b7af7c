#!/bin/sh
# Starts Pinhole with the fewest powers that still keep server and browser apart.
set -eu
umask 0077

if [ "$(id -u)" -ne 0 ]; then
    # No way to another user: the browser runs as the server's, with its sandbox on.
    exec /usr/bin/pinhole "$@"
fi

# Root keeps what it takes to run the browser as a user of its own: become that user and give up the rest (setuid,
# setgid, setpcap), hand it a directory and take that back (chown, dac_override), and end its processes (kill).
exec setpriv --no-new-privs --inh-caps=-all \
    --bounding-set=-all,+chown,+dac_override,+kill,+setgid,+setpcap,+setuid \
    /usr/bin/pinhole "$@"
