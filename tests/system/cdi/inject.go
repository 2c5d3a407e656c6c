// SPDX-License-Identifier: MIT
// inject DIR CONFIG DEVICE...: the CDI reference implementation, as podman and containerd use it, puts devices of the specifications in
// DIR into an OCI runtime configuration.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	text, err := os.ReadFile(os.Args[2])
	spec := &specs.Spec{}
	if err == nil {
		err = json.Unmarshal(text, spec)
	}
	cache, cerr := cdi.NewCache(cdi.WithSpecDirs(os.Args[1]), cdi.WithAutoRefresh(false))
	if err == nil {
		err = cerr
	}
	for path, errs := range cache.GetErrors() {
		fmt.Fprintln(os.Stderr, path, errs)
		os.Exit(1)
	}
	if err == nil {
		fmt.Fprintln(os.Stderr, cache.ListDevices())
		_, err = cache.InjectDevices(spec, os.Args[3:]...)
	}
	if err == nil {
		text, err = json.MarshalIndent(spec, "", " ")
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
