# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for vgpu: its subcommands and their options, as vgpu itself names them; behind "--" the command's own.
_vgpu() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words i
	if [ "$COMP_CWORD" = 1 ]; then
		words=$(vgpu --help 2>/dev/null | awk '/^  [a-z]+ / {print $1}')
		mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
		fi
		return
	done
	if [ "${COMP_WORDS[COMP_CWORD - 1]}" = -p ] && [ "$command" = trace ]; then
		words=$(vgpu ctl list 2>/dev/null | awk '$2 ~ /^[0-9]+$/ {print $2}')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
		return
	fi
	if [ "$command" = ctl ] && [ "${COMP_WORDS[2]}" = set ] && [ "$COMP_CWORD" = 4 ]; then
		mapfile -t COMPREPLY < <(compgen -W "weight memory window contexts clients kernel-time compute priority" -- "$word")
		return
	fi
	if [ "$command" = ctl ] && [ "${COMP_WORDS[2]}" = set ] && [ "$COMP_CWORD" = 5 ]; then
		words=default
		[ "${COMP_WORDS[4]}" = priority ] && words="default low normal high"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
		return
	fi
	case $word in
	-*)
		words=$(vgpu "$command" --help 2>&1 | grep -oE -e '(^|[[ ])--?[a-z][a-z-]*' | tr -d '[ ')
		mapfile -t COMPREPLY < <(compgen -W "$words --" -- "$word")
		;;
	*)
		# "vgpu ctl list", "vgpu ctl end|stop|go CLIENT": the words behind the command, where its usage has such
		words=
		[ "$COMP_CWORD" = 2 ] && words=$(vgpu "$command" --help 2>&1 | grep -oE "vgpu $command [a-z|]+" | sed 's/.* //' | tr '|' '\n' | sort -u)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [ -n "$words" ] || compgen -f -- "$word")
		;;
	esac
}
complete -o filenames -F _vgpu vgpu

# The daemons' options, as they name them; files behind most of them.
_vgpu_daemon() {
	local word=${COMP_WORDS[COMP_CWORD]} words
	case $word in
	-*)
		words=$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -oE -e '(^|[[ ,])--?[a-z][a-z-]*' | tr -d '[ ,' | sort -u)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	esac
}
complete -o filenames -F _vgpu_daemon vgpu-agent vgpu-stub
