# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Packages without installing anything: an apt with a configuration, lists and an empty package status of its own, so that
# it resolves all dependencies and the machine's own apt is not touched. Sourced by fetch-qemu.sh and fetch-debian.sh, which
# have said what skip does.

# apt_alone FOLDER SUITE...: from now on apt-get means that one. The mirror is the one that this machine's own sources name.
apt_alone() {
	local at=$1 suite mirror keys=/usr/share/keyrings/debian-archive-keyring.gpg
	shift
	command -v apt-get >/dev/null || skip "no apt-get here"
	[ "$(dpkg --print-architecture)" = amd64 ] || skip "only amd64 is prepared"
	# first address of a Debian archive, in either format of sources
	mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
		awk '$1 == "URIs:" { for (i = 2; i <= NF; i++) print $i }
		     $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; break } }' |
		grep -E '/debian/?$' | head -n 1)
	[ -n "$mirror" ] || skip "this machine's apt sources name no Debian mirror"
	[ -e "$keys" ] || skip "no $keys"

	mkdir -p "$at"/state/lists/partial "$at"/cache/archives/partial "$at"/etc
	: >"$at/state/status"
	for suite in "$@"; do
		echo "deb [signed-by=$keys] $mirror $suite main"
	done >"$at/etc/sources.list"
	cat >"$at/etc/apt.conf" <<-CONF
		Dir::State "$at/state";
		Dir::State::status "$at/state/status";
		Dir::Cache "$at/cache";
		Dir::Etc::sourcelist "$at/etc/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::Etc::preferencesparts "-";
		APT::Architecture "amd64";
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Retries "3";
	CONF
	export APT_CONFIG=$at/etc/apt.conf
	apt-get -qq update >"$at/log" 2>&1 || skip "no package lists from $mirror: $(tail -n 1 "$at/log")"
	packages=$at/cache/archives
}
