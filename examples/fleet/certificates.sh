#!/bin/sh
# Certificates for the TLS of one cluster of Dask, by OpenSSL 3:
#
#     sh examples/fleet/certificates.sh tls >> ~/.config/dask/isthmus-fleet.yaml
#
# The new folder gets ca.pem, and for each role its key with its certificate. The lines for Dask are
# printed. The authority's key is removed: nobody can make further certificates.
set -eu
umask 077
mkdir "$1"
folder=$(cd "$1" && pwd)
cd "$folder"
trap 'rm -f ./*.key ./*.crt role.cnf' EXIT
new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@" 2>/dev/null; }
new -x509 -days 365 -subj "/CN=isthmus fleet" -addext keyUsage=critical,keyCertSign \
    -keyout ca.key -out ca.pem
cat > role.cnf <<END
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END
for role in scheduler worker client; do
    new -subj "/CN=$role" -keyout "$role.key" |
        openssl x509 -req -days 365 -CA ca.pem -CAkey ca.key -extfile role.cnf -out "$role.crt" \
            2>/dev/null
    cat "$role.key" "$role.crt" > "$role.pem"
done
cat <<END
distributed:
  comm:
    require-encryption: true
    tls:
      min-version: 1.3
      ca-file: "$folder/ca.pem"
      scheduler:
        cert: "$folder/scheduler.pem"
      worker:
        cert: "$folder/worker.pem"
      client:
        cert: "$folder/client.pem"
END
