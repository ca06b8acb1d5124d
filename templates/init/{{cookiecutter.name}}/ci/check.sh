#!/bin/sh
# What CI runs, and what runs on any machine with sparkiac alike: sh ci/check.sh
# It writes nothing, and asks no registry and no model hub.
set -eu
cd "$(dirname "$0")/.."
failed=0

wrong() {
  echo "ci/check.sh: $1" >&2
  failed=1
}

for inventory in inventories/*.yaml; do
  case $inventory in *.lock.yaml) continue ;; esac
  if sparkiac lock --check "$inventory"; then
    sparkiac check "$inventory" || wrong "$inventory has findings"
    sparkiac generate --check "$inventory" || wrong "not up to date: sparkiac generate $inventory, then commit generated/"
  else
    wrong "the lock is not complete: sparkiac lock $inventory, then commit it"
  fi
  # The plan, where those who review a change see it.
  {
    echo '```text'
    sparkiac plan "$inventory" 2>/dev/null || true
    echo '```'
  } >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
done
exit "$failed"
