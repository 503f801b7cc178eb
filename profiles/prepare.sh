#!/bin/sh
# Makes the inputs that the programs of profiles/apps work on; the same bytes every time.
set -eu
folder="${CORPUS:-/tmp/hcloud-corpus}"
mkdir -p "$folder"
cd "$folder"
seeded() { openssl enc -aes-128-ctr -nosalt -K 00000000000000000000000000000001 -iv 00000000000000000000000000000000 < /dev/zero 2> /dev/null; }
seeded | head -c 12M | od -An -v -tx4 > text
seeded | od -An -v -tu4 -w4 | tr -d ' ' | head -n 1200000 > numbers
head -n 60000 numbers | awk 'BEGIN { print "[" } { printf "%s{\"n\": %d, \"name\": \"item %s\", \"tags\": [%d, %d]}", (NR > 1 ? ",\n" : ""), $1, $1, $1 % 7, $1 % 11 } END { print "]" }' > records.json
seeded | head -c 10M > raw && ffmpeg -nostdin -v error -y -f s16le -ar 44100 -ac 2 -i raw -af lowpass=f=2000 sound.wav && rm raw
awk 'BEGIN { print "#include <math.h>"; for (i = 0; i < 1500; i++) printf "double f%d(double x, int n) { double s = 0; for (int i = 0; i < n; i++) { s += sin(x * i) / (1 + i); if (s > %d) s *= 0.5; } return s; }\n", i, i }' > unit.c
awk 'BEGIN { print "#include <map>\n#include <regex>\n#include <string>\n#include <vector>"; for (i = 0; i < 25; i++) printf "template <int N> struct K%d { std::map<std::string, std::vector<int>> m; int at(const std::string &s) { return m[s].size() + N; } };\nint g%d(const std::string &s) { return K%d<%d>().at(s) + std::regex_match(s, std::regex(\"a%d+\")); }\n", i, i, i, i, i }' > unit.cpp
cat > scene.pov <<'POV'
camera { location <0, 3, -8> look_at <0, 1, 0> }
light_source { <10, 20, -10> rgb 1 }
plane { y, 0 pigment { checker rgb 1 rgb 0.4 } finish { reflection 0.2 } }
#declare I = 0;
#while (I < 40) sphere { <sin(I) * 3, 0.6 + mod(I, 4) * 0.5, cos(I) * 3>, 0.4 pigment { rgb <mod(I, 3) / 2, 0.5, 0.8> } finish { reflection 0.3 } } #declare I = I + 1; #end
POV
cat > nginx.conf <<'CONF'
events { worker_connections 64; }
http { access_log off; client_body_temp_path nginx-body; proxy_temp_path nginx-proxy; fastcgi_temp_path nginx-fastcgi; uwsgi_temp_path nginx-uwsgi; scgi_temp_path nginx-scgi; server { listen 127.0.0.1:7393; root .; } }
CONF
cat > lighttpd.conf <<CONF
server.document-root = "$folder"
server.bind = "127.0.0.1"
server.port = 7394
CONF
if [ "$(id -u)" = 0 ] && [ -x /usr/lib/postgresql/15/bin/initdb ] && [ ! -d postgres/data ]; then
  mkdir -p postgres && chown postgres postgres
  setpriv --reuid postgres --regid postgres --clear-groups sh -c 'cd postgres && /usr/lib/postgresql/15/bin/initdb -D data -A trust > /dev/null && /usr/lib/postgresql/15/bin/pg_ctl -D data -o "-p 7396 -k $PWD -c listen_addresses=127.0.0.1" -w -l log start > /dev/null && pgbench -h 127.0.0.1 -p 7396 -i -s 5 -q postgres 2> /dev/null && /usr/lib/postgresql/15/bin/pg_ctl -D data -w stop > /dev/null'
fi
