# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by what fetches from npm.

# npm_why STATUS: why npm failed, by its exit status and, from npm.log, in its own words: the first line that is a sentence.
npm_why() {
	if [ "$1" = 124 ]; then
		echo "nothing in 240 s"
	else
		sed -nE 's/^npm (ERR!|error) //p' npm.log | grep -vE '^( |$|code |errno |syscall |type |A complete log)' | head -n 1 | grep . ||
			tail -n 1 npm.log
	fi
}
# npm_pack PACKAGE@VERSION FOLDER: its files, unmodified; not 0: npm_why says why
npm_pack() {
	local file st=0

	file=$(timeout 240 npm pack --loglevel=error "$1" 2>npm.log) || st=$?
	file=$(tail -n 1 <<<"$file")
	if [ $st != 0 ] || ! [ -f "$file" ]; then
		return $((st ? st : 1))
	fi
	rm -rf "$2"
	mkdir -p "$2"
	tar xzf "$file" -C "$2" --strip-components=1
	rm -f "$file"
}
