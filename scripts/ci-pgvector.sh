#!/usr/bin/env bash
# Adds the extension pgvector to the installed PostgreSQL, so that the search store is tested on a real server too. Run as
# root. Installs Debian's package if there is one, else compiles the source package of the next Debian. If both fail, it
# reports this, and the tests use only the embedded server.
set -euo pipefail

version=$(ls /usr/lib/postgresql 2>/dev/null | sort -n | tail -1)
if [ -z "$version" ]; then
  echo "pgvector: no PostgreSQL is installed; the search store is tested only on the embedded server"
  exit 0
fi
extensions=/usr/share/postgresql/$version/extension
[ -e "$extensions/vector.control" ] && exit 0

export DEBIAN_FRONTEND=noninteractive
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Exits with 0: the tests report the missing server, and an unreachable mirror must not stop the other checks.
give_up() {
  echo "pgvector: $1; the search store is tested only on the embedded server"
  exit 0
}

if ! apt-cache show "postgresql-server-dev-$version" >/dev/null 2>&1; then
  apt-get update -qq || give_up "the list of packages cannot be read"
fi
if apt-cache show "postgresql-$version-pgvector" >/dev/null 2>&1; then
  apt-get install -y -qq --no-install-recommends "postgresql-$version-pgvector" >/dev/null || give_up "not installed"
  exit 0
fi

cd "$folder"
site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -1)
[ -n "$site" ] || give_up "no Debian mirror is configured"
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$key] $site trixie main" >next.list
mkdir -p lists/partial
next=(-o Dir::Etc::SourceList="$folder/next.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$folder/lists" -o APT::Sandbox::User=root -qq)
apt-get "${next[@]}" update || give_up "the next Debian's list of sources cannot be read"
apt-get "${next[@]}" source --download-only pgvector || give_up "the source package cannot be read"
# Download only the headers, because installing the package would also install a compiler.
apt-get -o APT::Sandbox::User=root -qq download "postgresql-server-dev-$version" || give_up "no headers of the server"
dpkg -x postgresql-server-dev-*.deb headers
tar xzf pgvector_*.orig.tar.gz
cd pgvector-*/
release=$(sed -n "s/^default_version = '\(.*\)'/\1/p" vector.control)
include=$folder/headers/usr/include/postgresql/$version/server
gcc -O2 -ftree-vectorize -fassociative-math -fno-signed-zeros -fno-trapping-math -fPIC -shared -w \
  -I"$include" -D_GNU_SOURCE src/*.c -o vector.so -lm || give_up "it cannot be compiled for PostgreSQL $version"
install -m 755 vector.so "/usr/lib/postgresql/$version/lib/"
install -m 644 sql/vector.sql "$extensions/vector--$release.sql"
install -m 644 vector.control "$extensions/"
echo "pgvector: $release compiled for PostgreSQL $version"
