# SPDX-License-Identifier: BSD-2-Clause
# Completion of mrc-ctl for bash.
_mrc_ctl() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word
	local -a words=()
	local where="plane= leaf= spine= host= direction="
	local kinds="loss silent_discard duplicate reorder delay jitter corrupt truncate pad mtu ecn_all ecn_none
		ecn_alternate trim rate carrier flap restart"

	case $previous in
	-s | --socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	esac
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		links | link | fault | faults | counters | check | info | call)
			command=$word
			break
			;;
		esac
	done
	case $command in
	"") words=(links link fault faults counters check info call --socket --json --wait --help --version) ;;
	links | counters) read -ra words <<<"$where --json" ;;
	link) read -ra words <<<"$where up down rate= delay=" ;;
	fault)
		case $previous in
		fault) words=(start stop) ;;
		start) read -rd '' -a words <<<"$kinds" ;;
		*) read -ra words <<<"$where at= for= rate= name= packets=" ;;
		esac
		;;
	call) words=(list_links set_link start_fault stop_fault list_faults counters check_balance) ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$current")
	[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -F _mrc_ctl mrc-ctl
