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

if ! command -v sparkiac >/dev/null; then
  wrong "sparkiac is not in the PATH: pip install -r requirements.txt"
  exit 1
fi

for inventory in inventories/*.yaml; do
  case $inventory in *.lock.yaml) continue ;; esac
  status=0
  sparkiac lock --check "$inventory" || status=$?
  case $status in
    0)
      sparkiac check "$inventory" || wrong "$inventory has findings"
      sparkiac generate --check "$inventory" || wrong "not up to date: sparkiac generate $inventory, then commit generated/"
      ;;
    3) wrong "the lock is not complete: sparkiac lock $inventory, then commit it" ;;
    *) wrong "$inventory or its lock cannot be read" ;;
  esac
  # The plan, where those who review a change see it.
  {
    echo '```text'
    sparkiac plan "$inventory" 2>/dev/null || true
    echo '```'
  } >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
done
exit "$failed"
