#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds twelve deliberately broken engines and shows which tests catch each. A suite that cannot
# fail proves nothing: the script fails when a mutant survives. doc/testing.md lists the mutants.
#
#   test/mutants.sh [MUTANT...]
set -u
cd "$(dirname "$0")/.." || exit 2

mutants=(wrap window ack backoff duplicate bounds nack icrc generation mute echo late)
[ $# -eq 0 ] || mutants=("$@")
unit=test/unit/sched
sim=test/sim/test_sim.py
programs=("$unit"/test_pair_{basic,loss,window,timer,verbs,hostile,holes,patience} test/bugs/test_bugs_{packets,verbs,recovery})
dir=build-mutant
out=$(mktemp)
trap 'rm -f "$out"' EXIT
survivors=0

[ -d "$dir" ] || meson setup "$dir" -Dapp=disabled -Dlto=false >"$out" 2>&1 || { cat "$out"; exit 2; }
for mutant in "${mutants[@]}"; do
	if ! { meson configure "$dir" -Dmutant="$mutant" && ninja -C "$dir" "${programs[@]}" test/sim/mrc-sim; } >"$out" 2>&1; then
		tail -30 "$out"
		exit 2
	fi
	caught=()
	for program in "${programs[@]}"; do
		# A broken engine may hang or crash: both count as noticed.
		timeout 120 "$dir/$program" >"$out" 2>&1 </dev/null
		status=$?
		[ "$status" -eq 0 ] && continue
		mapfile -t names < <(sed -n 's/^\[  FAILED  \] \([a-z0-9_]*\)$/\1/p' "$out" | sort -u)
		[ "${#names[@]}" -gt 0 ] ||
			names=("$(sed -n 's/^\[ RUN      \] //p' "$out" | tail -1) (status $status)")
		caught+=("${names[@]}")
	done
	# The simulator sees late packets by itself, whatever number they bear.
	if ! timeout 120 python3 "$sim" churn "$dir/test/sim/mrc-sim" >"$out" 2>&1 </dev/null; then
		caught+=("sim_churn")
	elif [ "$mutant" = generation ]; then
		echo "$mutant: not noticed by sim_churn"
		caught=()
	fi
	if [ "${#caught[@]}" -eq 0 ]; then
		survivors=$((survivors + 1))
		echo "$mutant: SURVIVES"
	else
		echo "$mutant: ${#caught[@]} tests: ${caught[*]}"
	fi
done
[ "$survivors" -eq 0 ]
