#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One release number: fw-protocol/vgpu_version.h has it, and everything that says one says that. What make install puts somewhere belongs to
# exactly one of Debian's packages.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
release=$(sed -n 's/^#define VGPU_VERSION "\(.*\)"/\1/p' fw-protocol/vgpu_version.h)
[[ $release =~ ^0\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] && ok "$release is a semantic version" || fail "'$release' is no semantic version 0.x"

same() { # same WHO WHAT-IT-SAYS
	[ "$2" = "$release" ] && ok "$1 says $release" || fail "$1 says '$2', vgpu_version.h $release"
}
same "vgpu --version" "$("$V/vgpu" --version | sed 's/^vgpu \([^ ]*\).*/\1/')"
same "vgpu-agent --version" "$("$V/vgpu-agent" --version | sed 's/^vgpu-agent \([^ ,]*\).*/\1/')"
same "vgpu-stub --version" "$("$V/vgpu-stub" --version | sed 's/^vgpu-stub \([^ ,]*\).*/\1/')"
# the newest section of each
same CHANGELOG.md "$(sed -n 's/^## \[\(.*\)\].*/\1/p' CHANGELOG.md | head -n 1)"
same debian/changelog "$(sed -n '1s/^vgpu (\([^)~]*\).*/\1/p' debian/changelog)"
PREFIX=/usr DESTDIR=$dir/tree tools/service/install.sh install "$(realpath --relative-to=. "$B")" >/dev/null
same libcuda-lite.pc "$(sed -n 's/^Version: //p' "$dir/tree/usr/lib/pkgconfig/libcuda-lite.pc")"
start_stub --memory 256M
start_agent
same "the agent by vgpu smi" "$("$V/vgpu" smi -j | python3 -c 'import json,sys; print(json.load(sys.stdin)["agent"]["version"])')"

# in the files themselves, where this linker can write it (systemd.io/ELF_PACKAGE_METADATA)
if echo 'int x;' | gcc -Xlinker '--package-metadata={"a":"b"}' -shared -nostdlib -xc -o /dev/null - 2>/dev/null; then
	missing=
	while read -r f; do
		note=$(objcopy -O binary --only-section=.note.package "$f" /dev/stdout 2>/dev/null | tr -d '\0')
		[[ $note == *"\"version\":\"$release\""* ]] || missing+=" ${f#"$dir/tree"}"
	done < <(find "$dir/tree/usr" -type f \( -path '*/bin/*' -o -name '*.so' -o -name '*.so.*' \) -not -name '*.sh')
	[ -z "$missing" ] && ok "every program and library has the note" || fail "without the note, or of another version:$missing"
else
	skip "notes in files: this linker has no --package-metadata"
fi

# debian/*.install by hand: which package takes which file of the staged tree
find "$dir/tree" \( -type f -o -type l \) -printf '%P\n' | sort >"$dir/files"
: >"$dir/taken"
for list in debian/*.install debian/not-installed; do
	while read -r pattern _; do
		[[ -z $pattern || $pattern == \#* ]] && continue
		# shellcheck disable=SC2086
		(cd "$dir/tree" && find $pattern \( -type f -o -type l \) -printf "%p ${list##*/}\n" 2>/dev/null) >"$dir/now"
		[ -s "$dir/now" ] || fail "$list: nothing is installed as $pattern"
		cat "$dir/now" >>"$dir/taken"
	done <"$list"
done
cut -d' ' -f1 "$dir/taken" | sort -u | comm -23 "$dir/files" - >"$dir/none"
cut -d' ' -f1 "$dir/taken" | sort | uniq -d >"$dir/twice"
[ ! -s "$dir/none" ] && ok "every installed file is in a package" || fail "in no debian/*.install: $(tr '\n' ' ' <"$dir/none")"
[ ! -s "$dir/twice" ] && ok "none is in two" || fail "in two packages: $(grep -Ff "$dir/twice" "$dir/taken" | tr '\n' ' ')"
