#!/usr/bin/env bash
# Run the tests as other processors, other numbers of threads and a busy machine would: one setting after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
pytest="${PYTEST:-pytest}"
options=("${@:--n2}")

run() {
  echo "== ${*:-as it is}"
  env "$@" "$pytest" --dist loadfile "${options[@]}"
}

run # with one thread, which is what tests/conftest.py sets
run ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Nehalem # an old processor
run ATEN_CPU_CAPABILITY=avx2
run OMP_NUM_THREADS=2
echo "== beside a process on each of two cores"
busy=()
trap 'kill "${busy[@]}"' EXIT
for _ in 1 2; do
  (while :; do :; done) &
  busy+=($!)
done
run
