#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds eight deliberately broken engines and shows which test catches each. A suite that cannot
# fail proves nothing: the script fails when a mutant survives.
#
#   test/mutants.sh [MUTANT...]
set -u
cd "$(dirname "$0")/.." || exit 2

mutants=(wrap window ack backoff duplicate bounds nack icrc)
[ $# -eq 0 ] || mutants=("$@")
jobs=$(nproc)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
survivors=0

for mutant in "${mutants[@]}"; do
	dir=build-mutant
	if [ -d "$dir" ]; then
		meson configure "$dir" -Dmutant="$mutant"
	else
		meson setup "$dir" -Dapp=disabled -Dmutant="$mutant"
	fi >"$log" 2>&1 || { cat "$log"; exit 2; }
	ninja -C "$dir" -j "$jobs" >"$log" 2>&1 || { tail -30 "$log"; exit 2; }
	meson test -C "$dir" --no-rebuild -t 0.5 pair_basic pair_loss pair_window pair_timer \
		pair_verbs pair_hostile bugs_packets bugs_verbs bugs_recovery >"$log" 2>&1
	caught=$(sed -n 's/^ *[0-9]*\/[0-9]* *\(.*[^ ]\)  *\(FAIL\|TIMEOUT\|ERROR\).*/\1/p' "$log" |
		sed 's/^.*\///; s/ .*//' | tr '\n' ' ')
	tests=$(sed -n 's/^\[  FAILED  \] \([a-z0-9_]*\)$/\1/p' \
		"$dir/meson-logs/testlog.txt" | sort -u | tr '\n' ' ')
	if [ -z "$caught" ]; then
		survivors=$((survivors + 1))
		echo "$mutant: SURVIVES"
	else
		echo "$mutant: caught by $caught($tests)"
	fi
done
[ "$survivors" -eq 0 ]
