#!/bin/sh
# The checks that CI runs; they also run on any machine with sparkiac: sh ci/check.sh
# They write no files and send no requests.
set -eu
cd "$(dirname "$0")/.."
failed=0

fail() {
  echo "ci/check.sh: $1" >&2
  failed=1
}

plan() {
  echo '```text'
  sparkiac plan "$1" 2>/dev/null || true
  echo '```'
}

if ! command -v sparkiac >/dev/null; then
  fail "sparkiac is not in the PATH: pip install -r requirements.txt"
  exit 1
fi

for inventory in inventories/*.yaml; do
  case $inventory in *.lock.yaml) continue ;; esac
  status=0
  sparkiac lock --check "$inventory" || status=$?
  case $status in
    0)
      sparkiac check "$inventory" || fail "$inventory has findings"
      sparkiac generate --check "$inventory" || fail "generated files are not up to date: run sparkiac generate $inventory and commit generated/"
      ;;
    3) fail "the lock is incomplete: run sparkiac lock $inventory and commit it" ;;
    *) fail "$inventory or its lock cannot be read" ;;
  esac
  # Add the plan to the summary of the job, for reviewers.
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then plan "$inventory" >>"$GITHUB_STEP_SUMMARY"; else plan "$inventory"; fi
done
exit "$failed"
