#!/usr/bin/env bash
# Build the sdist and the wheel, check what is in them, and run `newfound demo` from the installed wheel.
#
#   tools/check_wheel.sh
#       installs the wheel with the extra `offline` into a clean environment
#   NEWFOUND_WHEEL_PYTHON=.venv/bin/python tools/check_wheel.sh
#       quicker: borrows the dependencies of that interpreter, and installs only the wheel, into a folder of its own
#
# PYTHON names the interpreter that makes the clean environments (default: python3).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
max_bytes=$((1024 * 1024))
pip="-m pip --quiet --disable-pip-version-check"

"$python" -m venv "$work/build-env"
# shellcheck disable=SC2086 # the words of $pip are separate arguments
"$work/build-env/bin/python" $pip install build
"$work/build-env/bin/python" -m build --outdir "$work/dist" . > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
sdist=$(echo "$work"/dist/*.tar.gz)
wheel=$(echo "$work"/dist/*.whl)

# The sdist has no benchmarks and no large file; the wheel has the package and nothing else, and a README whose links work
# on a package index.
"$python" - "$sdist" "$wheel" "$max_bytes" << 'PYTHON'
import re
import sys
import tarfile
import zipfile

sdist, wheel, max_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
with tarfile.open(sdist) as archive:
    files = {member.name.partition("/")[2]: member.size for member in archive if member.isfile()}
with zipfile.ZipFile(wheel) as archive:
    packed = {entry.filename: entry.file_size for entry in archive.infolist() if not entry.is_dir()}
    (metadata,) = [archive.read(name).decode() for name in packed if name.endswith(".dist-info/METADATA")]
wrong = [f"sdist: {name} belongs to the benchmarks" for name in files if name.startswith("benchmarks/")]
wrong += [f"sdist: {name} has {size:,} bytes" for name, size in files.items() if size > max_bytes]
wrong += [f"wheel: {name} has {size:,} bytes" for name, size in packed.items() if size > max_bytes]
wrong += [f"wheel: {name} is not part of the package" for name in packed if not name.startswith(("newfound/", "newfound-"))]
wanted = ("newfound/py.typed", "newfound/data/demo/utterances.csv", "newfound/data/demo/README.md")
wrong += [f"wheel: {name} is missing" for name in wanted if name not in packed]
wrong += [f"sdist: {name} is missing" for name in ("LICENSE", "README.md", "pyproject.toml") if name not in files]
links = re.findall(r"\]\(([^)\s]+)\)", metadata)
wrong += [f"METADATA: {link} leads nowhere on a package index" for link in links if not link.startswith("https://")]
wrong += ["METADATA: the README is missing"] if not links else []
if wrong:
    sys.exit("\n".join(wrong))
print(f"sdist: {len(files)} files, wheel: {len(packed)} files; nothing in them is over {max_bytes:,} bytes")
PYTHON

if [ -n "${NEWFOUND_WHEEL_PYTHON:-}" ]; then
  interpreter=$(realpath -s "$NEWFOUND_WHEEL_PYTHON")
  # shellcheck disable=SC2086
  "$interpreter" $pip install --no-deps --no-index --target "$work/wheel" "$wheel"
  export PYTHONPATH="$work/wheel"
else
  "$python" -m venv "$work/env"
  interpreter="$work/env/bin/python"
  # torch first, at the tested version, as in the Makefile
  # shellcheck disable=SC2086
  "$interpreter" $pip install "$(grep '^torch==' constraints.txt)"
  # shellcheck disable=SC2086
  "$interpreter" $pip install "$wheel[offline]"
fi

# Not from the checkout: the package must come from the wheel.
cd "$work"
home=$("$interpreter" -c 'import newfound; print(newfound.__file__)')
case $home in
  "$work"/*) ;;
  *) echo "newfound was imported from $home, not from the wheel" >&2; exit 1 ;;
esac
"$interpreter" -m newfound demo --out "$work/demo"
"$interpreter" -m newfound predict "$work/demo" <<< "my smart meter went blank"
cd "$root"
echo "the wheel works: $(basename "$wheel")"
