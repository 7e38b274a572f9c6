#!/usr/bin/env bash
# Runs the tests that need servers again as a normal user who has Node and the base commands of Debian. Tests that need a
# missing program must be skipped with a reason, and no test may fail. Needs root, to change the user.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ] || ! command -v dpkg-query >/dev/null || ! command -v setpriv >/dev/null; then
  echo "tests of a normal user: not run, because they need root on Debian"
  exit 0
fi

# A test file that calls one of these needs a server that npm does not install.
helpers='test(Program|Redis|RedisCluster|Nats|PgBouncer|Browser|Site)|broker(Redis|Nats)|(redis|nats)Bench|needsPython'
mapfile -t tests < <(grep -rlE --include='*.test.ts' --exclude-dir=node_modules --exclude-dir=dist \
  "(^|[^.[:alnum:]])($helpers)\(" packages examples bench experiments test | sort)

# One file for each program that apt-get unpacks without root, and the experiments that start their own servers.
unpacked=(
  packages/cache/test/cache.test.ts
  packages/events/test/end-to-end.test.ts
  packages/metrics/test/exposition.test.ts
  packages/token-store/test/redis.test.ts
  experiments/test/{redis-stall,logout-reach,refresh-race}.test.ts
)

folder=$(mktemp -d /var/tmp/svc-normal-user-XXXXXX)
# Remove programs that an earlier run unpacked for this user (see packages/dev-services/src/unpack.ts).
kept=/var/tmp/svc-programs-$(id -u nobody)
rm -rf "$kept"
trap 'rm -rf "$folder" "$kept"' EXIT
mkdir "$folder/bin" "$folder/home"
dpkg-query --show --showformat='${Essential} ${Package}\n' | sed -n 's/^yes //p' |
  xargs dpkg-query --listfiles | grep -E '^(/usr)?/bin/[^/]+$' |
  while read -r program; do [ ! -x "$program" ] || ln -sf "$program" "$folder/bin/"; done
cp -a --reflink=auto . "$folder/checkout"
chown -R nobody:nogroup "$folder"
chmod 755 "$folder"
cd "$folder/checkout"

as_normal_user() {
  setpriv --reuid=nobody --regid=nogroup --clear-groups env -i \
    HOME="$folder/home" PATH="$folder/checkout/node_modules/.bin:$folder/bin" node scripts/test.mjs "$@"
}

echo "tests of a normal user: ${#tests[@]} files, with no server on PATH and without apt-get"
as_normal_user "${tests[@]}"
ln -s "$(command -v apt-get)" "$folder/bin/"
echo "tests of a normal user: ${#unpacked[@]} files, with what apt-get downloads without root"
as_normal_user "${unpacked[@]}"
