#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `./run test`: sourced by run, which provides root, jobs, say, die and build_dir.

: "${root:?}" "${jobs:?}"
passed=0
failed=0
skipped=0
failures=()

# step NAME COMMAND...: one check that passes or fails as a whole.
step() {
	local name=$1 start=$SECONDS log
	shift
	log=${name,,}
	log=$logs/${log//[^a-z0-9]/-}.log
	printf '%-52s' "$name"
	if "$@" >"$log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		printf 'ok      %4d s\n' $((SECONDS - start))
		return 0
	fi
	failed=$((failed + 1))
	failures+=("$name (whole output in $log)")
	printf 'FAILED  %4d s\n' $((SECONDS - start))
	tail -n 40 "$log" | sed 's/^/    /'
	return 1
}

# tests NAME DIR MESON-TEST-ARGUMENT...: the tests of a build directory, counted case by case.
tests() {
	local name=$1 dir=$2 start=$SECONDS base counts status=0 line
	shift 2
	base=${name,,}
	base=run-${base//[^a-z0-9]/-}
	printf '%-52s' "$name"
	rm -f "$dir/meson-logs/$base.json"
	meson test -C "$dir" --no-rebuild --num-processes "$jobs" --logbase "$base" \
		--print-errorlogs "$@" >"$logs/$base.log" 2>&1 </dev/null || status=$?
	if [ ! -f "$dir/meson-logs/$base.json" ]; then
		counts=("0 1 0" "$name did not run (see $logs/$base.log)")
	else
		mapfile -t counts < <("$root/test/tools/tally.py" "$dir/meson-logs/$base.json")
	fi
	count_in "$status" "$name" "${counts[@]}"
	printf '%s, %d s\n' "$summary" $((SECONDS - start))
	for line in "${counts[@]:1}"; do
		echo "    $line"
	done
	if [ "$status" -ne 0 ]; then
		sed -n '/――――/,$p' "$logs/$base.log" | tail -n 80
	fi
}

# count_in STATUS NAME "P F S" [FAILURE...]: adds a suite's counts to the totals; sets summary.
count_in() {
	local status=$1 name=$2 p f s
	read -r p f s <<<"$3"
	shift 3
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
		set -- "meson's status $status"
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	while [ $# -gt 0 ]; do
		failures+=("$name: $1")
		shift
	done
	summary="$p passed, $f failed"
	[ "$s" -eq 0 ] || summary+=", $s skipped"
}

finish() {
	local line
	echo
	for line in "${failures[@]}"; do
		echo "failed: $line"
	done
	[ "$skipped" -eq 0 ] || echo "$skipped skipped"
	echo "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

cmd_test() {
	local quick=0
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) quick=1 ;;
		*) die "test: unknown option $1 (see ./run help)" ;;
		esac
		shift
	done
	SECONDS=0
	logs=$root/build/run-logs
	step_build
	if [ $quick -eq 1 ]; then
		tests "rules" "$root/build" --suite rules
		tests "unit" "$root/build" --suite unit
		step "demo" "$root/build/app/mrc-dp/mrc-dp" demo --quiet --seconds 2 || true
	else
		full
	fi
	finish
}

step_build() {
	local dir=$root/build
	[ -f "$dir/build.ninja" ] || configure "$dir" "${CC:-gcc}" >/dev/null ||
		die "meson failed; see $dir/meson-logs/meson-log.txt"
	mkdir -p "$logs"
	step "build with gcc" ninja -C "$dir" -j "$jobs" || { finish; exit 1; }
}

full() {
	local asan=$root/build-asan
	tests "rules" "$root/build" --suite rules
	if step "build with clang" build_dir "$root/build-clang" clang; then
		tests "unit (clang)" "$root/build-clang" --suite unit
	fi
	tests "unit" "$root/build" --suite unit
	if step "build with ASan and UBSan" build_dir "$asan" clang -Dapp=disabled \
		-Db_sanitize=address,undefined; then
		tests "unit (ASan, UBSan)" "$asan" --suite unit -t 5
		tests "fuzz, 10^6 inputs a target (ASan, UBSan)" "$asan" --suite fuzz -t 5
	fi
	tests "simulator" "$root/build" --suite sim
	tests "scenarios that pass stay passed" "$root/build" --suite scenarios
	step "simulator: the same runs with gcc and clang" python3 "$root/test/sim/test_sim.py" \
		determinism "$root/build/test/sim/mrc-sim" \
		"$root/build-clang/test/sim/mrc-sim" || true
	step "every broken engine is caught" timeout 900 "$root/test/mutants.sh" || true
	tests "end to end" "$root/build" --suite e2e
}
