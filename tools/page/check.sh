#!/usr/bin/env bash
# Check the scripts of the review page and the report: format, common mistakes, types. `check.sh write` formats them.
# Where npm cannot be had this says so and is skipped.
set -euo pipefail
cd "$(dirname "$0")"
skip() {
  echo "THE PAGE'S SCRIPTS WERE NOT CHECKED: $1" >&2
  exit 0
}
command -v npm > /dev/null || skip "npm is not installed"
if ! cmp -s package-lock.json node_modules/installed-lock.json; then
  timeout 120 npm ci --silent --no-audit --no-fund --fetch-retries=0 > /dev/null 2>&1 \
    || skip "npm cannot install the packages of tools/page/package-lock.json"
  cp package-lock.json node_modules/installed-lock.json
fi
PATH="$PWD/node_modules/.bin:$PATH"
cd ../..
checked=tools/page/node_modules/checked # as old as the last check that found nothing
sources="src/newfound/serve/static src/newfound/report tools/page/*.*"
[ -e $checked ] && [ -z "$(find $sources -newer $checked -print -quit)" ] && exit 0
began=tools/page/node_modules/began
touch $began
prettier --config tools/page/prettier.json --log-level warn "--${1:-check}" \
  "src/newfound/{serve,report}/**/*.js" "tools/page/*.{js,json,ts}" "!tools/page/api.d.ts"
eslint --config tools/page/eslint.config.js src/newfound
tsc --project tools/page
mv $began $checked
