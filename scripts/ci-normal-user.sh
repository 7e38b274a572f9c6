#!/usr/bin/env bash
# Runs the tests that need servers once more, as a normal user who has Node and the commands that no Debian is without: what is
# missing for that user is skipped with its reason, and nothing fails. Takes root, for the account and the copy of the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ] || ! command -v dpkg-query >/dev/null || ! command -v setpriv >/dev/null; then
  echo "normal user: not run, because it takes root on a Debian"
  exit 0
fi

# The files that call a helper of @svc/dev-services, or one that calls it; not those that only need the PostgreSQL of npm.
helpers='test(Program|Redis|RedisCluster|Nats|PgBouncer|Browser|Site)|broker(Redis|Nats)|(redis|nats)Bench|needsPython'
mapfile -t tests < <(grep -rlE --include='*.test.ts' --exclude-dir=node_modules --exclude-dir=dist \
  "(^|[^.[:alnum:]])($helpers)\(" packages examples bench experiments test | sort)

folder=$(mktemp -d /var/tmp/svc-normal-user-XXXXXX)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/home"
dpkg-query --show --showformat='${Essential} ${Package}\n' | sed -n 's/^yes //p' |
  xargs dpkg-query --listfiles | grep -E '^(/usr)?/bin/[^/]+$' |
  while read -r program; do [ ! -x "$program" ] || ln -sf "$program" "$folder/bin/"; done

cp -a --reflink=auto . "$folder/checkout"
chown -R nobody:nogroup "$folder"
chmod 755 "$folder"
cd "$folder/checkout"
echo "normal user: ${#tests[@]} files of tests that need servers"
setpriv --reuid=nobody --regid=nogroup --clear-groups env -i \
  HOME="$folder/home" PATH="$folder/checkout/node_modules/.bin:$folder/bin" \
  node scripts/test.mjs "${tests[@]}"
