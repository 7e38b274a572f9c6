#!/usr/bin/env bash
# The one list of Debian packages that tests may need. Run as root. Starts no service.
set -euo pipefail

packages=(
  redis-server            # a real Redis
  prometheus              # promtool, which checks the format of /metrics
  pgbouncer               # a connection pooler, with which tenants must stay separate
  chromium-headless-shell # a real browser, for the tests of signing in
  nats-server             # NATS as the event bus
  postgresql              # the oldest supported PostgreSQL, to which ci-pgvector.sh adds pgvector
  postgresql-client       # psql, which the consumer in Python uses
  python3                 # the consumer in Python
  nginx-core              # a service behind the gateway
  python3-httpbin         # another service behind the gateway
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

# Debian starts installed services unless this file forbids it; tests start their own servers, on free ports.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
